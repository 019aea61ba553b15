import { useQuery } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { allPages, LARGEST_PAGE } from "../api/pages";

/** Every SKU, those that are not offered any more too: what runs may have one of them. */
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
