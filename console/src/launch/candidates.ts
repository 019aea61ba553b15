// Which allocations will do for which component, and why the others will not: the API's answer, not ours.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import type { components } from "../api/schema";

export type Place = components["schemas"]["PlacementCandidate"];
export type Places = components["schemas"]["PlacementCandidates"];

export interface ChosenPlacement {
  component_key: string;
  allocation_id: string;
}

export interface CandidateRequest {
  version?: string | undefined;
  /** Of a workload that gets new members. */
  instance_id?: string | undefined;
  chosen: ChosenPlacement[];
  enabled?: boolean;
}

export function usePlacementCandidates(project_id: string, app: string, request: CandidateRequest) {
  const chosen = request.chosen.map((one) => `${one.component_key}:${one.allocation_id}`);
  return useQuery({
    queryKey: [
      ...keys.one("catalog", project_id, app),
      "places",
      request.version,
      request.instance_id,
      chosen,
    ],
    queryFn: ({ signal }) =>
      body(
        api.GET("/api/v1/projects/{project_id}/placements", {
          params: {
            path: { project_id },
            query: { app, version: request.version, instance_id: request.instance_id, chosen, limit: 200 },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    enabled: request.enabled ?? true,
  });
}
