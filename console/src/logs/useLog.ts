// The lines of one member or of several: pages, or streams while somebody follows.
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiProblem, api, body, sessionOver } from "../api/client";
import { randomId } from "../api/ids";
import { localProblem, problemOf } from "../api/problem";
import type { LogLine, LogPage } from "../api/types";
import { Follower, Refused } from "../live/follower";
import { append, byTime, type Entry, prepend } from "./lines";

const PAGE = 200;
/** Lines that come on each other's heels are drawn together. */
const DRAW_MS = 100;

export interface LogQuery {
  project_id: string;
  instance_id: string;
  /** One of each log that is read. */
  members: string[];
  /** Minutes back; 0: the newest lines. */
  minutes: number;
  follow: boolean;
}

export interface Log {
  entries: Entry[];
  /** By member: of one host that does not answer, the others' lines are shown all the same. */
  problems: Record<string, ApiProblem>;
  loading: boolean;
  older: (() => Promise<void>) | null;
}

/** What a stream tells: a line, how many are missing, or why it ended. */
interface Told extends Partial<LogLine> {
  lines?: number;
  code?: string;
  message?: string;
  next_step?: string;
  retryable?: boolean;
}

interface Asked {
  member: string;
  limit: number;
  cursor?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
}

export async function readLog(
  of: { project_id: string; instance_id: string },
  asked: Asked,
  signal?: AbortSignal,
): Promise<LogPage> {
  const { project_id, instance_id } = of;
  const answer = await body(
    api.GET("/api/v1/projects/{project_id}/instances/{instance_id}/logs", {
      params: { path: { project_id, instance_id }, query: asked },
      signal: signal ?? null,
    }),
  );
  return answer as LogPage; // its other form is a stream, which we did not ask for
}

function since(query: LogQuery): string | undefined {
  return query.minutes > 0 ? new Date(Date.now() - query.minutes * 60_000).toISOString() : undefined;
}

export function useLog(query: LogQuery, attempt: number): Log {
  const [entries, setEntries] = useState<Entry[]>([]);
  const [problems, setProblems] = useState<Record<string, ApiProblem>>({});
  const [waiting, setWaiting] = useState(query.members.length);
  const [cursors, setCursors] = useState<Record<string, string>>({});
  const { project_id, instance_id, minutes, follow } = query;
  const wanted = query.members.join(" ");

  // biome-ignore lint/correctness/useExhaustiveDependencies: `attempt` asks again for the same lines
  useEffect(() => {
    const members = wanted.split(" ").filter(Boolean);
    const asked = { project_id, instance_id, members, minutes, follow };
    const order = members.length > 1 ? byTime : (one: Entry[]) => one;
    const ending = new AbortController();
    const { signal } = ending;
    setEntries([]);
    setProblems({});
    setWaiting(members.length);
    setCursors({});
    for (const member of members) {
      readLog(asked, { member, limit: PAGE, since: since(asked) }, signal)
        .then((page) => {
          if (signal.aborted) return;
          setEntries((shown) => order(append(shown, page.lines)));
          setCursors((known) => withCursor(known, member, page.next_cursor));
          if (follow) stream(asked, member, page.newest_cursor, signal, add, fail);
        })
        .catch((error) => fail(member, asProblem(error)))
        .finally(() => !signal.aborted && setWaiting((left) => left - 1));
    }
    let arrivals: Entry[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    function add(entry: Entry): void {
      arrivals.push(entry);
      timer ??= setTimeout(() => {
        const arrived = arrivals;
        arrivals = [];
        timer = undefined;
        const alive = new Set(arrived.map((one) => one.member_id));
        setProblems((known) => without(known, alive));
        setEntries((shown) => order(append(shown, arrived)));
      }, DRAW_MS);
    }
    function fail(member: string, problem: ApiProblem): void {
      if (!signal.aborted) setProblems((known) => ({ ...known, [member]: problem }));
    }
    return () => {
      ending.abort();
      clearTimeout(timer);
    };
  }, [project_id, instance_id, wanted, minutes, follow, attempt]);

  const latest = useRef(query);
  latest.current = query;
  const older = useCallback(async () => {
    const asked = latest.current;
    const order = asked.members.length > 1 ? byTime : (one: Entry[]) => one;
    const reads = Object.entries(cursors).map(async ([member, cursor]) => {
      try {
        const page = await readLog(asked, { member, limit: PAGE, cursor, since: since(asked) });
        setEntries((shown) => order(prepend(shown, page.lines)));
        setCursors((known) => withCursor(known, member, page.next_cursor));
      } catch (error) {
        setProblems((known) => ({ ...known, [member]: asProblem(error) }));
      }
    });
    await Promise.all(reads);
  }, [cursors]);
  const more = Object.keys(cursors).length > 0;
  return { entries, problems, loading: waiting > 0, older: more ? older : null };
}

function withCursor(known: Record<string, string>, member: string, cursor: string | null) {
  return cursor === null ? without(known, new Set([member])) : { ...known, [member]: cursor };
}

function without<T>(known: Record<string, T>, members: ReadonlySet<string>): Record<string, T> {
  const left = Object.entries(known).filter(([member]) => !members.has(member));
  return left.length === Object.keys(known).length ? known : Object.fromEntries(left);
}

function stream(
  query: LogQuery,
  member: string,
  after: string | null,
  signal: AbortSignal,
  add: (entry: Entry) => void,
  onProblem: (member: string, problem: ApiProblem) => void,
): void {
  const path = `/api/v1/projects/${query.project_id}/instances/${query.instance_id}/logs`;
  const began = new Date().toISOString();
  let last = began;
  const follower = new Follower<Told>({
    now: async () => after ?? "",
    open: async (place, either) => {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (place) headers["Last-Event-ID"] = place;
      const asked = new URLSearchParams({ member });
      if (!place) asked.set("since", began);
      const response = await fetch(`${path}?${asked}`, {
        headers,
        signal: either,
        credentials: "same-origin",
      });
      if (response.ok) return response;
      if (response.status === 401) sessionOver();
      const problem = await problemOf(response, "");
      onProblem(member, problem);
      if (!problem.document.retryable) throw new Refused(problem.code);
      return new Response(null, { status: response.status });
    },
    onState: () => undefined,
    onFresh: () => undefined,
    onEvent: (told) => {
      if (told.cursor !== undefined) {
        last = told.at ?? last;
        add({ ...(told as LogLine), member_id: member });
      } else if (told.lines !== undefined)
        add({ key: randomId(), at: last, member_id: member, leftOut: told.lines });
      else if (told.code !== undefined) onProblem(member, endOf(told));
    },
  });
  signal.addEventListener("abort", () => follower.pause());
  void follower.run();
}

function endOf(told: Told): ApiProblem {
  return localProblem(told.code ?? "log_read_failed", told.message ?? "The log ended.", "", {
    next_step: told.next_step ?? "Try again.",
    retryable: told.retryable ?? false,
  });
}

function asProblem(error: unknown): ApiProblem {
  return error instanceof ApiProblem ? error : localProblem("log_read_failed", String(error), "");
}
