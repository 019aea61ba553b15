// What the page of credentials reads.
import { useQuery } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { PAGE_SIZE, useListing } from "../api/pages";

/** Keys of the person who is logged in, wherever they look. */
export const MINE = "me";

export function useSshKeys() {
  return useQuery({
    queryKey: keys.list("ssh-keys", MINE),
    queryFn: async ({ signal }) =>
      (await body(api.GET("/api/v1/me/ssh-keys", { params: { query: { limit: 200 } }, signal }))).items,
  });
}

export function useCredentials(project_id: string) {
  return useListing(keys.list("credentials", project_id), (after, signal) =>
    body(
      api.GET("/api/v1/projects/{project_id}/access-credentials", {
        params: { path: { project_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}

export function useDeliveries(project_id: string, credential_id: string) {
  return useListing(keys.of("credentials", project_id, credential_id, "deliveries"), (after, signal) =>
    body(
      api.GET("/api/v1/projects/{project_id}/access-credentials/{credential_id}/deliveries", {
        params: { path: { project_id, credential_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}
