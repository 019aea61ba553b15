// Keeps what is on the screen true: one stream of the project in view, and of the platform where an operator looks at it.
import { type Query, type QueryClient, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from "react";
import { ApiProblem, sessionOver } from "../api/client";
import { keys } from "../api/keys";
import type { Event } from "../api/types";
import { Burst } from "./burst";
import { Follower, type LiveState, refuseIfRefused } from "./follower";
import { patchLists } from "./patch";
import { nounOf, PATCHED, staleAfter } from "./rules";

/** Hidden tabs let go of their connection, of which a browser has few, and go on from their place when they are seen. */
const HIDDEN_MS = 30_000;

type Listener = (event: Event) => void;

interface Live {
  state: LiveState;
  listen: (listener: Listener) => () => void;
}

const LiveContext = createContext<Live>({ state: "connecting", listen: () => () => undefined });

export function useLive(): Live {
  return useContext(LiveContext);
}

/** Hears every event of the stream while it is mounted. */
export function useLiveEvents(listener: Listener): void {
  const { listen } = useLive();
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(() => listen((event) => latest.current(event)), [listen]);
}

export function LiveProvider({ scope, children }: { scope: string | undefined; children: ReactNode }) {
  const client = useQueryClient();
  const listeners = useRef(new Set<Listener>());
  const [state, setState] = useState<LiveState>("connecting");

  useEffect(() => {
    if (!scope) return;
    const address = scope === "platform" ? "/api/v1/events" : `/api/v1/projects/${scope}/events`;
    const burst = new Burst((events) => refresh(client, scope, events));
    const follower = new Follower({
      now: (signal) => cursorOfNow(address, signal),
      open: (after, signal) =>
        ask(address, { headers: { Accept: "text/event-stream", "Last-Event-ID": after }, signal }),
      onState: (next) => {
        setState(next);
        if (next === "live") void client.invalidateQueries({ predicate: isWanting });
      },
      onFresh: () => void client.invalidateQueries({ predicate: (query) => query.queryKey[1] === scope }),
      onEvent: (event) => {
        burst.add(event);
        for (const listener of listeners.current) listener(event);
      },
    });
    const stop = whileSeen(follower);
    return () => {
      stop();
      burst.drop();
    };
  }, [scope, client]);

  const live = useMemo<Live>(
    () => ({
      state,
      listen: (listener) => {
        listeners.current.add(listener);
        return () => listeners.current.delete(listener);
      },
    }),
    [state],
  );
  return <LiveContext.Provider value={live}>{children}</LiveContext.Provider>;
}

/** Reads again what the events made stale: each thing once, however many of them are about it. */
function refresh(client: QueryClient, scope: string, events: Event[]): void {
  const stale = new Map(
    events.flatMap((event) => staleAfter(event, scope)).map((key) => [JSON.stringify(key), key]),
  );
  for (const key of stale.values()) void client.invalidateQueries({ queryKey: key });
  if (scope === "platform") return;
  const rows = new Map(events.map((event) => [event.subject, nounOf(event)]));
  for (const [id, noun] of rows) {
    if (noun && PATCHED.has(noun)) {
      patchLists(client, noun, scope, id).catch(() =>
        client.invalidateQueries({ queryKey: keys.lists(noun, scope) }),
      );
    }
  }
}

/** What could not be read while the platform was unavailable: it is, as soon as the platform answers. */
function isWanting({ state }: Query): boolean {
  return state.isInvalidated || (state.error instanceof ApiProblem && state.error.document.retryable);
}

/** Like the API client: without a session the user is sent to the login page. */
async function ask(address: string, how: RequestInit): Promise<Response> {
  const answer = await fetch(address, how);
  if (answer.status === 401) sessionOver();
  return answer;
}

async function cursorOfNow(address: string, signal: AbortSignal): Promise<string> {
  const answer = await ask(`${address}?tail=0`, { signal });
  refuseIfRefused(answer);
  if (!answer.ok) throw new Error(`events answered ${answer.status}`);
  const page = (await answer.json()) as { next_cursor: string };
  return page.next_cursor;
}

/** Runs while the tab is seen. What stops it for good is returned. */
function whileSeen(follower: Follower): () => void {
  let hidden: ReturnType<typeof setTimeout> | undefined;
  const begin = () => void follower.run();
  const look = () => {
    clearTimeout(hidden);
    if (document.visibilityState === "hidden") hidden = setTimeout(() => follower.pause(), HIDDEN_MS);
    else if (follower.paused) begin();
  };
  document.addEventListener("visibilitychange", look);
  begin();
  return () => {
    clearTimeout(hidden);
    document.removeEventListener("visibilitychange", look);
    follower.pause();
  };
}
