import { useQuery } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { keys } from "../api/keys";

/** What a project may hold, and holds. */
export function useQuota(project_id: string) {
  return useQuery({
    queryKey: keys.one("quota", project_id, project_id),
    queryFn: ({ signal }) =>
      body(api.GET("/api/v1/projects/{project_id}/quota", { params: { path: { project_id } }, signal })),
  });
}
