// What is stuck, over all projects; for operators.
import { useQuery } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { PAGE_SIZE, useListing } from "../api/pages";
import type { Allocation, Operation, ReceiptLine } from "../api/types";

const PLATFORM = "platform";

interface AllocationsWanted {
  state?: Allocation["state"];
  node_id?: string;
}

export function useAllocationsOf(wanted: AllocationsWanted) {
  return useListing(keys.list("allocations", PLATFORM, wanted), (after, signal) =>
    body(
      api.GET("/api/v1/allocations", { params: { query: { limit: PAGE_SIZE, after, ...wanted } }, signal }),
    ),
  );
}

export function useOperationsOf(status: Operation["status"]) {
  return useListing(keys.list("operations", PLATFORM, { status }), (after, signal) =>
    body(api.GET("/api/v1/operations", { params: { query: { limit: PAGE_SIZE, after, status } }, signal })),
  );
}

export function useReceiptsOf(status: ReceiptLine["status"]) {
  return useListing(keys.list("receipts", PLATFORM, { status }), (after, signal) =>
    body(api.GET("/api/v1/receipts", { params: { query: { limit: PAGE_SIZE, after, status } }, signal })),
  );
}

const MOST_PAGES = 10;
export const PLATFORM_ALLOCATIONS_KEY = ["held", PLATFORM] as const;

/** All of them, as far as they can be looked through; `whole` says whether that was the end. */
export function usePlatformAllocations() {
  return useQuery({
    queryKey: PLATFORM_ALLOCATIONS_KEY,
    queryFn: async ({ signal }) => {
      const items: Allocation[] = [];
      let after: string | undefined;
      for (let count = 0; count < MOST_PAGES; count++) {
        const page = await body(
          api.GET("/api/v1/allocations", { params: { query: { limit: 200, after } }, signal }),
        );
        items.push(...page.items);
        if (!page.next_cursor) return { items, whole: true };
        after = page.next_cursor;
      }
      return { items, whole: false };
    },
  });
}
