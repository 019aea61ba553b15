// What the page of the team reads.
import { useQuery } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { PAGE_SIZE, useListing } from "../api/pages";

export function useProjectMembers(project_id: string) {
  return useListing(keys.list("team", project_id), (after, signal) =>
    body(
      api.GET("/api/v1/projects/{project_id}/members", {
        params: { path: { project_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}

export function useTenantMembers(tenant_id: string) {
  return useListing(keys.list("team", tenant_id), (after, signal) =>
    body(
      api.GET("/api/v1/tenants/{tenant_id}/members", {
        params: { path: { tenant_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}

export function useTenantUsers(tenant_id: string) {
  return useListing(keys.list("users", tenant_id), (after, signal) =>
    body(
      api.GET("/api/v1/tenants/{tenant_id}/users", {
        params: { path: { tenant_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}

export function useTenant(tenant_id: string) {
  return useQuery({
    queryKey: keys.one("tenants", "platform", tenant_id),
    queryFn: ({ signal }) =>
      body(api.GET("/api/v1/tenants/{tenant_id}", { params: { path: { tenant_id } }, signal })),
  });
}

export function useServiceAccounts(project_id: string, enabled = true) {
  return useListing(
    keys.list("service-accounts", project_id),
    (after, signal) =>
      body(
        api.GET("/api/v1/projects/{project_id}/service-accounts", {
          params: { path: { project_id }, query: { limit: PAGE_SIZE, after } },
          signal,
        }),
      ),
    enabled,
  );
}

export function useAccountKeys(project_id: string, service_account_id: string) {
  return useListing(keys.of("service-accounts", project_id, service_account_id, "keys"), (after, signal) =>
    body(
      api.GET("/api/v1/projects/{project_id}/service-accounts/{service_account_id}/keys", {
        params: { path: { project_id, service_account_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}

export function useAccountCertificates(project_id: string, service_account_id: string) {
  return useListing(
    keys.of("service-accounts", project_id, service_account_id, "certificates"),
    (after, signal) =>
      body(
        api.GET("/api/v1/projects/{project_id}/service-accounts/{service_account_id}/certificates", {
          params: { path: { project_id, service_account_id }, query: { limit: PAGE_SIZE, after } },
          signal,
        }),
      ),
  );
}
