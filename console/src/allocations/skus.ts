import { useQuery } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { allPages, LARGEST_PAGE } from "../api/pages";

/** All SKUs, also those that are no longer offered: a running allocation may have one. */
export function useSkus() {
  return useQuery({
    // Not the key of a first page: what is kept under it is a whole list.
    queryKey: [...keys.all("skus", "platform"), "all"],
    queryFn: ({ signal }) =>
      allPages((after) =>
        body(api.GET("/api/v1/skus", { params: { query: { limit: LARGEST_PAGE, after } }, signal })),
      ),
  });
}
