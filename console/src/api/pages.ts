// Lists come in pages with a cursor; a table asks for the next one as its reader gets there.
import { type QueryKey, useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import type { Page } from "./types";

export const PAGE_SIZE = 100;
export const LARGEST_PAGE = 200;
/** More than this is not added up in a browser. */
const MOST_PAGES = 25;

/** A list as a whole, for what is added up or chosen from. */
export async function allPages<T>(load: (after: string | undefined) => Promise<Page<T>>): Promise<T[]> {
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
      // A refused request is repeated by the user, not by every render.
      if (query.hasNextPage && !query.isFetchingNextPage && !query.isFetchNextPageError)
        void query.fetchNextPage();
    },
    pending: query.isPending,
    error: query.error,
    retry: () => void (query.isFetchNextPageError ? query.fetchNextPage() : query.refetch()),
  };
}

/** Loads page after page while it is needed: a search, sort or selection must cover rows that are not loaded yet. */
export function useRest<T>(listing: Listing<T>, needed = true): void {
  useEffect(() => {
    if (needed && listing.more && !listing.loadingMore) listing.loadMore();
  }, [needed, listing]);
}
