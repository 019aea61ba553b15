// Queries of operations. Progress has no events, since there would be too many: the page of an operation polls.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { PAGE_SIZE, useListing } from "../api/pages";
import type { Operation } from "../api/types";

const LIVE = new Set(["pending", "claimed", "running"]);
const WAIT_SECONDS = 30;
const PAUSE_MS = 1500;

export function isLive(operation: Operation): boolean {
  return LIVE.has(operation.status);
}

function show(
  project_id: string,
  operation_id: string,
  query: object,
  signal: AbortSignal,
): Promise<Operation> {
  const params = { path: { project_id, operation_id }, query };
  return body(api.GET("/api/v1/projects/{project_id}/operations/{operation_id}", { params, signal }));
}

/** One operation; while it lives, each step as it is reported. */
export function useOperation(project_id: string, operation_id: string | null | undefined) {
  const client = useQueryClient();
  const id = operation_id ?? "";
  const key = keys.one("operations", project_id, id);
  const query = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => show(project_id, id, {}, signal),
    enabled: id !== "",
  });
  const live = query.data !== undefined && isLive(query.data);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key is made of the ids
  useEffect(() => {
    if (!live) return;
    const gone = new AbortController();
    void follow(gone.signal);
    return () => gone.abort();

    async function follow(signal: AbortSignal) {
      while (!signal.aborted) {
        const known = client.getQueryData<Operation>(key);
        if (!known || !isLive(known)) return;
        try {
          const wait = { wait: WAIT_SECONDS, newer_than: known.generation };
          const next = await show(project_id, id, wait, signal);
          if (next.generation >= (client.getQueryData<Operation>(key)?.generation ?? 0))
            client.setQueryData(key, next);
        } catch {
          await new Promise((resolve) => setTimeout(resolve, PAUSE_MS)); // the platform is unavailable; the bar above says so
        }
      }
    }
  }, [live, project_id, id, client]);
  return query;
}

export interface OperationFilter {
  instance_id?: string;
  parent_id?: string;
  status?: Operation["status"];
}

export function useOperations(project_id: string, filter: OperationFilter) {
  return useListing(keys.list("operations", project_id, filter), (after, signal) =>
    body(
      api.GET("/api/v1/projects/{project_id}/operations", {
        params: { path: { project_id }, query: { limit: PAGE_SIZE, after, ...filter } },
        signal,
      }),
    ),
  );
}
