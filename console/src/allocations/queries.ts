// What the pages of allocations read.
import { useQuery } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { type Listing, PAGE_SIZE, useListing } from "../api/pages";
import type { Allocation } from "../api/types";

export interface AllocationFilter {
  state?: Allocation["state"];
}

export function useAllocations(project_id: string, filter: AllocationFilter = {}): Listing<Allocation> {
  return useListing(keys.list("allocations", project_id, filter), (after, signal) =>
    body(
      api.GET("/api/v1/projects/{project_id}/allocations", {
        params: { path: { project_id }, query: { limit: PAGE_SIZE, after, ...filter } },
        signal,
      }),
    ),
  );
}

export function useAllocation(project_id: string, allocation_id: string) {
  return useQuery({
    queryKey: keys.one("allocations", project_id, allocation_id),
    queryFn: ({ signal }) =>
      body(
        api.GET("/api/v1/projects/{project_id}/allocations/{allocation_id}", {
          params: { path: { project_id, allocation_id } },
          signal,
        }),
      ),
  });
}

export function useTimeline(project_id: string, allocation_id: string) {
  return useQuery({
    queryKey: keys.of("allocations", project_id, allocation_id, "timeline"),
    queryFn: ({ signal }) =>
      body(
        api.GET("/api/v1/projects/{project_id}/allocations/{allocation_id}/timeline", {
          params: { path: { project_id, allocation_id } },
          signal,
        }),
      ),
  });
}

export function useTopology(project_id: string, allocation_id: string) {
  return useQuery({
    queryKey: keys.of("allocations", project_id, allocation_id, "topology"),
    queryFn: ({ signal }) =>
      body(
        api.GET("/api/v1/projects/{project_id}/allocations/{allocation_id}/topology", {
          params: { path: { project_id, allocation_id } },
          signal,
        }),
      ),
  });
}

export function useGrants(project_id: string, allocation_id: string) {
  return useListing(keys.of("allocations", project_id, allocation_id, "grants"), (after, signal) =>
    body(
      api.GET("/api/v1/projects/{project_id}/allocations/{allocation_id}/ssh-grants", {
        params: { path: { project_id, allocation_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}

export function useCertificates(project_id: string, allocation_id: string) {
  return useListing(keys.of("allocations", project_id, allocation_id, "certificates"), (after, signal) =>
    body(
      api.GET("/api/v1/projects/{project_id}/allocations/{allocation_id}/ssh-certificates", {
        params: { path: { project_id, allocation_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}

export function useTerminals(project_id: string, allocation_id: string) {
  return useListing(keys.of("allocations", project_id, allocation_id, "terminals"), (after, signal) =>
    body(
      api.GET("/api/v1/projects/{project_id}/allocations/{allocation_id}/terminals", {
        params: { path: { project_id, allocation_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}
