// Lists come in pages with a cursor; a table asks for the next one as its reader gets there.
import { type QueryKey, useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Page } from "./types";

export const PAGE_SIZE = 100;

export interface Listing<T> {
  rows: T[];
  more: boolean;
  loadingMore: boolean;
  loadMore: () => void;
  pending: boolean;
  error: Error | null;
  retry: () => void;
}

export function useListing<T>(
  key: QueryKey,
  load: (after: string | undefined, signal: AbortSignal) => Promise<Page<T>>,
  enabled = true,
): Listing<T> {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => load(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    enabled,
  });
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  return {
    rows,
    more: query.hasNextPage,
    loadingMore: query.isFetchingNextPage,
    loadMore: () => {
      if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage();
    },
    pending: query.isPending,
    error: query.error,
    retry: () => void query.refetch(),
  };
}
