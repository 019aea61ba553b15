// A list that comes in one answer, as a table wants it.
import type { Listing } from "../api/pages";

interface Query<T> {
  data: T[] | undefined;
  isPending: boolean;
  error: Error | null;
  refetch: () => unknown;
}

const NONE: never[] = [];

export function wholeListing<T>(query: Query<T>): Listing<T> {
  return {
    rows: query.data ?? NONE,
    more: false,
    loadingMore: false,
    loadMore: () => undefined,
    pending: query.isPending,
    error: query.error,
    retry: () => void query.refetch(),
  };
}
