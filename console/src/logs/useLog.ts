// The lines of one member: a page, or a stream while somebody follows.
import { useCallback, useEffect, useRef, useState } from "react";
import { ApiProblem, api, body, sessionOver } from "../api/client";
import { randomId } from "../api/ids";
import { localProblem, problemOf } from "../api/problem";
import type { LogLine, LogPage } from "../api/types";
import { Follower, Refused } from "../live/follower";
import { append, type Entry, prepend } from "./lines";

const PAGE = 200;
/** Lines that come on each other's heels are drawn together. */
const DRAW_MS = 100;

export interface LogQuery {
  project_id: string;
  instance_id: string;
  member: string;
  /** Minutes back; 0: the newest lines. */
  minutes: number;
  follow: boolean;
}

export interface Log {
  entries: Entry[];
  problem: ApiProblem | null;
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

async function read(query: LogQuery, cursor: string | undefined, signal?: AbortSignal): Promise<LogPage> {
  const { project_id, instance_id, member } = query;
  const answer = await body(
    api.GET("/api/v1/projects/{project_id}/instances/{instance_id}/logs", {
      params: {
        path: { project_id, instance_id },
        query: { member, limit: PAGE, cursor, since: since(query) },
      },
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
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [loading, setLoading] = useState(true);
  const [cursor, setCursor] = useState<string | null>(null);
  const { project_id, instance_id, member, minutes, follow } = query;

  // biome-ignore lint/correctness/useExhaustiveDependencies: `attempt` asks again for the same lines
  useEffect(() => {
    const wanted = { project_id, instance_id, member, minutes, follow };
    const ending = new AbortController();
    setEntries([]);
    setProblem(null);
    setLoading(true);
    setCursor(null);
    read(wanted, undefined, ending.signal)
      .then((page) => {
        setEntries(page.lines);
        setCursor(page.next_cursor);
        setLoading(false);
        if (follow) stream(wanted, page.newest_cursor, ending.signal, add, setProblem);
      })
      .catch((error) => {
        if (ending.signal.aborted) return;
        setLoading(false);
        setProblem(asProblem(error));
      });
    let waiting: Entry[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    function add(entry: Entry): void {
      waiting.push(entry);
      timer ??= setTimeout(() => {
        const arrived = waiting;
        waiting = [];
        timer = undefined;
        setProblem(null);
        setEntries((shown) => append(shown, arrived));
      }, DRAW_MS);
    }
    return () => {
      ending.abort();
      clearTimeout(timer);
    };
  }, [project_id, instance_id, member, minutes, follow, attempt]);

  const latest = useRef(query);
  latest.current = query;
  const older = useCallback(async () => {
    if (cursor === null) return;
    try {
      const page = await read(latest.current, cursor);
      setEntries((shown) => prepend(shown, page.lines));
      setCursor(page.next_cursor);
    } catch (error) {
      setProblem(asProblem(error));
    }
  }, [cursor]);
  return { entries, problem, loading, older: cursor === null ? null : older };
}

function stream(
  query: LogQuery,
  after: string | null,
  signal: AbortSignal,
  add: (entry: Entry) => void,
  onProblem: (problem: ApiProblem) => void,
): void {
  const path = `/api/v1/projects/${query.project_id}/instances/${query.instance_id}/logs`;
  const began = new Date().toISOString();
  let gaps = 0;
  const follower = new Follower<Told>({
    now: async () => after ?? "",
    open: async (place, either) => {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (place) headers["Last-Event-ID"] = place;
      const asked = new URLSearchParams({ member: query.member });
      if (!place) asked.set("since", began);
      const response = await fetch(`${path}?${asked}`, {
        headers,
        signal: either,
        credentials: "same-origin",
      });
      if (response.ok) return response;
      if (response.status === 401) sessionOver();
      const problem = await problemOf(response, "");
      onProblem(problem);
      if (!problem.document.retryable) throw new Refused(problem.code);
      return new Response(null, { status: response.status });
    },
    onState: () => undefined,
    onFresh: () => undefined,
    onEvent: (told) => {
      if (told.cursor !== undefined) add(told as LogLine);
      else if (told.lines !== undefined) add({ key: `gap-${gaps++}-${randomId()}`, leftOut: told.lines });
      else if (told.code !== undefined) onProblem(endOf(told));
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
