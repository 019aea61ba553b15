import { type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useLiveEvents } from "./LiveProvider";

/**
 * Reads something large again after events of these types, at most every so often: in a large fleet something happens
 * all the time, and nobody would ever see an answer that each event asks for anew.
 */
export function useRefetch(key: QueryKey, types: RegExp, everyMs: number): void {
  const client = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useLiveEvents((event) => {
    if (timer.current || !types.test(event.type)) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      void client.invalidateQueries({ queryKey: key });
    }, everyMs);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
}
