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

/** The platform's own apps that are not in the catalog yet, and why. */
export function useMissingApps(project_id: string) {
  return useQuery({
    queryKey: keys.of("catalog", project_id, "provided-apps", "missing"),
    queryFn: async ({ signal }) =>
      (
        await body(
          api.GET("/api/v1/projects/{project_id}/provided-apps", {
            params: { path: { project_id } },
            signal,
          }),
        )
      ).items.filter((app) => app.state !== "provided"),
    refetchInterval: 10_000,
  });
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
