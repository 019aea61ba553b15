// What the overview reads: only what needs somebody, what runs, and what it costs, however much else there is.
import { useQuery } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { allPages, LARGEST_PAGE } from "../api/pages";
import type { Allocation } from "../api/types";

export function useAllocationsIn(project_id: string, state: Allocation["state"]) {
  return useQuery({
    queryKey: [...keys.all("allocations", project_id), "overview", state],
    queryFn: ({ signal }) =>
      allPages((after) =>
        body(
          api.GET("/api/v1/projects/{project_id}/allocations", {
            params: { path: { project_id }, query: { state, limit: LARGEST_PAGE, after } },
            signal,
          }),
        ),
      ),
  });
}
