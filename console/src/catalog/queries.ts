// What the pages of the catalog read.
import { useQuery } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { PAGE_SIZE, useListing } from "../api/pages";

export function useCatalog(project_id: string) {
  return useListing(keys.list("catalog", project_id), (after, signal) =>
    body(
      api.GET("/api/v1/projects/{project_id}/catalog", {
        params: { path: { project_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}

export function useCatalogEntry(project_id: string, slug: string, version?: string) {
  return useQuery({
    queryKey: [...keys.one("catalog", project_id, slug), version ?? "newest"],
    queryFn: ({ signal }) =>
      body(
        api.GET("/api/v1/projects/{project_id}/catalog/{slug}", {
          params: { path: { project_id, slug }, query: { version } },
          signal,
        }),
      ),
  });
}
