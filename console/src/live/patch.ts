// Puts the present state of one thing into every list that shows it, so that a list of thousands is not read again.
import type { InfiniteData, QueryClient } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { keys, type Noun } from "../api/keys";
import type { Page } from "../api/types";

interface Row {
  id: string;
}

type Reader = (project: string, id: string) => Promise<Row>;

const READERS: Partial<Record<Noun, Reader>> = {
  instances: (project_id, instance_id) =>
    body(
      api.GET("/api/v1/projects/{project_id}/instances/{instance_id}", {
        params: { path: { project_id, instance_id } },
      }),
    ),
  operations: (project_id, operation_id) =>
    body(
      api.GET("/api/v1/projects/{project_id}/operations/{operation_id}", {
        params: { path: { project_id, operation_id } },
      }),
    ),
  allocations: (project_id, allocation_id) =>
    body(
      api.GET("/api/v1/projects/{project_id}/allocations/{allocation_id}", {
        params: { path: { project_id, allocation_id } },
      }),
    ),
};

type Pages = InfiniteData<Page<Row>>;

/** Who asked last about each thing: an answer that was overtaken by a later one is older, and is dropped. */
const asked = new Map<string, symbol>();

async function latest(reader: Reader, project: string, id: string): Promise<Row | null> {
  const mine = Symbol(id);
  asked.set(id, mine);
  try {
    const row = await reader(project, id);
    return asked.get(id) === mine ? row : null;
  } finally {
    if (asked.get(id) === mine) asked.delete(id);
  }
}

export async function patchLists(
  client: QueryClient,
  noun: Noun,
  project: string,
  id: string,
): Promise<void> {
  const lists = client.getQueriesData<Pages>({ queryKey: keys.lists(noun, project) });
  const kept = lists.filter(([, data]) => data !== undefined);
  const reader = READERS[noun];
  if (!kept.length || !reader) return;
  const row = await latest(reader, project, id);
  if (!row) return;
  for (const [key] of kept) {
    const data = client.getQueryData<Pages>(key);
    if (!data?.pages) continue;
    const next = replaced(data, row);
    if (next) client.setQueryData(key, next);
    // Not in what is loaded: it is new, or a filter decides about it. The API knows which.
    if (!next || hasFilter(key)) void client.invalidateQueries({ queryKey: key, exact: true });
  }
}

function hasFilter(key: readonly unknown[]): boolean {
  const filter = key[3];
  return (
    typeof filter === "object" &&
    filter !== null &&
    Object.values(filter).some((value) => value !== undefined)
  );
}

/** The pages with the row in its place; null when it is on none of them. */
export function replaced(data: Pages, row: Row): Pages | null {
  let found = false;
  const pages = data.pages.map((page) => {
    const at = page.items.findIndex((one) => one.id === row.id);
    if (at < 0) return page;
    found = true;
    return { ...page, items: page.items.with(at, row) };
  });
  return found ? { ...data, pages } : null;
}
