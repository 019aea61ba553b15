import { QueryClient } from "@tanstack/react-query";
import { ApiProblem } from "../api/problem";

/** Live events say what became stale, so nothing is read again by the clock or because a window got the focus. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 60_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) => failures < 3 && error instanceof ApiProblem && error.document.retryable,
      retryDelay: (failures) => Math.min(500 * 2 ** failures, 5000),
    },
    mutations: { retry: false },
  },
});
