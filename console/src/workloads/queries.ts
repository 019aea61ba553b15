// What the pages of workloads read.
import { useQuery } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { type Listing, PAGE_SIZE, useListing } from "../api/pages";
import type { InstanceSummary } from "../api/types";

export interface InstanceFilter {
  status?: InstanceSummary["status"];
  health?: InstanceSummary["health"];
  app?: string;
  allocation_id?: string;
}

export function useInstances(project_id: string, filter: InstanceFilter = {}): Listing<InstanceSummary> {
  return useListing(keys.list("instances", project_id, filter), (after, signal) =>
    body(
      api.GET("/api/v1/projects/{project_id}/instances", {
        params: { path: { project_id }, query: { limit: PAGE_SIZE, after, ...filter } },
        signal,
      }),
    ),
  );
}

export function useInstance(project_id: string, instance_id: string) {
  return useQuery({
    queryKey: keys.one("instances", project_id, instance_id),
    queryFn: ({ signal }) =>
      body(
        api.GET("/api/v1/projects/{project_id}/instances/{instance_id}", {
          params: { path: { project_id, instance_id } },
          signal,
        }),
      ),
  });
}
