// What operators read of tenants.
import { useQuery } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { PAGE_SIZE, useListing } from "../api/pages";

const PLATFORM = "platform";

export function useTenants() {
  return useListing(keys.list("tenants", PLATFORM), (after, signal) =>
    body(api.GET("/api/v1/tenants", { params: { query: { limit: PAGE_SIZE, after } }, signal })),
  );
}

export function useDeletions(enabled: boolean) {
  return useListing(
    keys.of("tenants", PLATFORM, "all", "deletions"),
    (after, signal) =>
      body(api.GET("/api/v1/deletions", { params: { query: { limit: PAGE_SIZE, after } }, signal })),
    enabled,
  );
}

export function useTenantProjects(tenant_id: string) {
  return useListing(keys.of("tenants", PLATFORM, tenant_id, "projects"), (after, signal) =>
    body(
      api.GET("/api/v1/tenants/{tenant_id}/projects", {
        params: { path: { tenant_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}

export function useTenantQuota(tenant_id: string) {
  return useQuery({
    queryKey: keys.of("tenants", PLATFORM, tenant_id, "quota"),
    queryFn: ({ signal }) =>
      body(api.GET("/api/v1/tenants/{tenant_id}/quota", { params: { path: { tenant_id } }, signal })),
  });
}

export function useEntitlements(tenant_id: string) {
  return useListing(keys.of("tenants", PLATFORM, tenant_id, "entitlements"), (after, signal) =>
    body(
      api.GET("/api/v1/tenants/{tenant_id}/entitlements", {
        params: { path: { tenant_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}

export function useControllerOffers(tenant_id: string, app?: string) {
  return useListing(keys.of("tenants", PLATFORM, tenant_id, "controller-offers", { app }), (after, signal) =>
    body(
      api.GET("/api/v1/tenants/{tenant_id}/controller-offers", {
        params: { path: { tenant_id }, query: { limit: PAGE_SIZE, after, app } },
        signal,
      }),
    ),
  );
}

export function useTrustKeys(tenant_id: string) {
  return useListing(keys.of("tenants", PLATFORM, tenant_id, "trust-keys"), (after, signal) =>
    body(
      api.GET("/api/v1/tenants/{tenant_id}/trust-keys", {
        params: { path: { tenant_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}

export function useTrustPolicy(tenant_id: string) {
  return useQuery({
    queryKey: keys.of("tenants", PLATFORM, tenant_id, "trust-policy"),
    queryFn: ({ signal }) =>
      body(api.GET("/api/v1/tenants/{tenant_id}/trust-policy", { params: { path: { tenant_id } }, signal })),
  });
}
