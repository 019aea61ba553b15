// What operators' pages of nodes read. All of it is of the platform.
import { useQuery } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { type Listing, PAGE_SIZE, useListing } from "../api/pages";
import type { MappedSlot, Node, NodeSlots } from "../api/types";

export const PLATFORM = "platform";

export function useNodes(status?: Node["status"]): Listing<Node> {
  return useListing(keys.list("nodes", PLATFORM, { status }), (after, signal) =>
    body(api.GET("/api/v1/nodes", { params: { query: { limit: PAGE_SIZE, after, status } }, signal })),
  );
}

export function useNode(node_id: string) {
  return useQuery({
    queryKey: keys.one("nodes", PLATFORM, node_id),
    queryFn: ({ signal }) =>
      body(api.GET("/api/v1/nodes/{node_id}", { params: { path: { node_id } }, signal })),
  });
}

export function useSlots(node_id: string) {
  return useQuery({
    queryKey: keys.of("nodes", PLATFORM, node_id, "slots"),
    queryFn: async ({ signal }) =>
      (await body(api.GET("/api/v1/nodes/{node_id}/slots", { params: { path: { node_id } }, signal }))).items,
  });
}

export function useTasks(node_id: string) {
  return useListing(keys.of("nodes", PLATFORM, node_id, "tasks"), (after, signal) =>
    body(
      api.GET("/api/v1/nodes/{node_id}/tasks", {
        params: { path: { node_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}

export function useTask(task_id: string) {
  return useQuery({
    queryKey: ["tasks", PLATFORM, "one", task_id],
    queryFn: ({ signal }) =>
      body(api.GET("/api/v1/tasks/{task_id}", { params: { path: { task_id } }, signal })),
  });
}

export function useMaintenanceWindows(node_id: string) {
  return useListing(keys.of("nodes", PLATFORM, node_id, "maintenance"), (after, signal) =>
    body(
      api.GET("/api/v1/maintenance-windows", {
        params: { query: { node_id, limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}

export function useHostReports(node_id: string) {
  return useListing(keys.of("nodes", PLATFORM, node_id, "reports"), (after, signal) =>
    body(
      api.GET("/api/v1/host-reports", { params: { query: { node_id, limit: PAGE_SIZE, after } }, signal }),
    ),
  );
}

export function useEnrolmentTokens() {
  return useListing(["enrolment-tokens", PLATFORM, "list", {}], (after, signal) =>
    body(api.GET("/api/v1/enrolment-tokens", { params: { query: { limit: PAGE_SIZE, after } }, signal })),
  );
}

const WHOLE_PAGE = 200;
const byName = new Intl.Collator("en", { numeric: true });
export const MAP_KEY = ["slot-map", PLATFORM] as const;

/** Every GPU of the fleet, or of the nodes that have one in this status. Pages are put together here. */
export function useSlotMap(status?: MappedSlot["status"]) {
  return useQuery({
    queryKey: [...MAP_KEY, { status }],
    queryFn: async ({ signal }) => {
      const nodes: NodeSlots[] = [];
      for (let after: string | undefined; ; ) {
        const page = await body(
          api.GET("/api/v1/slot-map", { params: { query: { limit: WHOLE_PAGE, after, status } }, signal }),
        );
        nodes.push(...page.items);
        if (!page.next_cursor) return nodes.sort((one, other) => byName.compare(one.name, other.name));
        after = page.next_cursor;
      }
    },
  });
}
