// What the overview reads: only what needs somebody, what runs, and what it costs, however much else there is.
import { useQuery } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import type { Allocation, Page } from "../api/types";

const PAGE = 200;
/** More than this is not added up in a browser. */
const MOST_PAGES = 25;

async function all<T>(load: (after: string | undefined) => Promise<Page<T>>): Promise<T[]> {
  const found: T[] = [];
  let after: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const { items, next_cursor } = await load(after);
    found.push(...items);
    if (!next_cursor) break;
    after = next_cursor;
  }
  return found;
}

export function useAllocationsIn(project_id: string, state: Allocation["state"]) {
  return useQuery({
    queryKey: [...keys.all("allocations", project_id), "overview", state],
    queryFn: ({ signal }) =>
      all((after) =>
        body(
          api.GET("/api/v1/projects/{project_id}/allocations", {
            params: { path: { project_id }, query: { state, limit: PAGE, after } },
            signal,
          }),
        ),
      ),
  });
}

export function useSkus() {
  return useQuery({
    // Not the key of a first page: what is kept under it is a whole list.
    queryKey: [...keys.all("skus", "platform"), "all"],
    queryFn: ({ signal }) =>
      all((after) => body(api.GET("/api/v1/skus", { params: { query: { limit: PAGE, after } }, signal }))),
  });
}

export function useQuota(project_id: string) {
  return useQuery({
    queryKey: keys.one("quota", project_id, project_id),
    queryFn: ({ signal }) =>
      body(api.GET("/api/v1/projects/{project_id}/quota", { params: { path: { project_id } }, signal })),
  });
}
