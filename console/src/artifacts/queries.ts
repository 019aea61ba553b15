// What the pages of artifacts read.
import { useQuery } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { PAGE_SIZE, useListing } from "../api/pages";
import type { Artifact } from "../api/types";

export function useArtifacts(project_id: string, stage?: Artifact["stage"], enabled = true) {
  return useListing(
    keys.list("artifacts", project_id, { stage }),
    (after, signal) =>
      body(
        api.GET("/api/v1/projects/{project_id}/artifacts", {
          params: { path: { project_id }, query: { limit: PAGE_SIZE, after, stage } },
          signal,
        }),
      ),
    enabled,
  );
}

export function useArtifact(project_id: string, artifact_id: string) {
  return useQuery({
    queryKey: keys.one("artifacts", project_id, artifact_id),
    queryFn: ({ signal }) =>
      body(
        api.GET("/api/v1/projects/{project_id}/artifacts/{artifact_id}", {
          params: { path: { project_id, artifact_id } },
          signal,
        }),
      ),
  });
}

/** What a collection would remove, now or after its grace period. */
export function useGarbage(project_id: string) {
  return useListing(keys.of("artifacts", project_id, "unused", "garbage"), (after, signal) =>
    body(
      api.GET("/api/v1/projects/{project_id}/artifact-garbage", {
        params: { path: { project_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}

export function useEvidence(project_id: string, artifact_id: string) {
  return useListing(keys.of("artifacts", project_id, artifact_id, "evidence"), (after, signal) =>
    body(
      api.GET("/api/v1/projects/{project_id}/artifacts/{artifact_id}/evidence", {
        params: { path: { project_id, artifact_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}

export function usePublishIntents(project_id: string) {
  return useListing(keys.list("publish-intents", project_id), (after, signal) =>
    body(
      api.GET("/api/v1/projects/{project_id}/publish-intents", {
        params: { path: { project_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}

export function useApps(project_id: string) {
  return useListing(keys.list("apps", project_id), (after, signal) =>
    body(
      api.GET("/api/v1/projects/{project_id}/apps", {
        params: { path: { project_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}

export function useApp(project_id: string, app_id: string) {
  return useQuery({
    queryKey: keys.one("apps", project_id, app_id),
    queryFn: ({ signal }) =>
      body(
        api.GET("/api/v1/projects/{project_id}/apps/{app_id}", {
          params: { path: { project_id, app_id } },
          signal,
        }),
      ),
  });
}

export function useVersions(project_id: string, app_id: string) {
  return useListing(keys.of("apps", project_id, app_id, "versions"), (after, signal) =>
    body(
      api.GET("/api/v1/projects/{project_id}/apps/{app_id}/versions", {
        params: { path: { project_id, app_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}

export function useVersion(project_id: string, app_id: string, version_id: string) {
  return useQuery({
    queryKey: keys.of("apps", project_id, app_id, `version ${version_id}`),
    queryFn: ({ signal }) =>
      body(
        api.GET("/api/v1/projects/{project_id}/apps/{app_id}/versions/{version_id}", {
          params: { path: { project_id, app_id, version_id } },
          signal,
        }),
      ),
  });
}
