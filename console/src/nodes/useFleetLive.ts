import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useLiveEvents } from "../live/LiveProvider";
import { MAP_KEY } from "./queries";

/** In a large fleet something happens all the time: the map is read again at most so often. */
const PAUSE_MS = 500;

/** Keeps the map of slots true: what happens to nodes and allocations changes it. */
export function useFleetLive(): void {
  const client = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useLiveEvents((event) => {
    if (!/^(node|allocation|slot)\./.test(event.type) || timer.current) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      void client.invalidateQueries({ queryKey: MAP_KEY });
    }, PAUSE_MS);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
}
