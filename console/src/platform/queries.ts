// What administrators read of the platform as a whole.
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { PAGE_SIZE, useListing } from "../api/pages";

const PLATFORM = "platform";

export function useSkuList() {
  return useListing([...keys.all("skus", PLATFORM), "pages"], (after, signal) =>
    body(api.GET("/api/v1/skus", { params: { query: { limit: PAGE_SIZE, after } }, signal })),
  );
}

export function useAllApps() {
  return useListing(keys.list("apps", PLATFORM), (after, signal) =>
    body(api.GET("/api/v1/apps", { params: { query: { limit: PAGE_SIZE, after } }, signal })),
  );
}

export function useAppEntitlements(app_id: string) {
  return useListing(keys.of("apps", PLATFORM, app_id, "entitlements"), (after, signal) =>
    body(
      api.GET("/api/v1/apps/{app_id}/entitlements", {
        params: { path: { app_id }, query: { limit: PAGE_SIZE, after } },
        signal,
      }),
    ),
  );
}

export function useAllUsers() {
  return useListing(keys.list("users", PLATFORM), (after, signal) =>
    body(api.GET("/api/v1/users", { params: { query: { limit: PAGE_SIZE, after } }, signal })),
  );
}

export function useSigningKeys() {
  return useListing(["signing-keys", PLATFORM], (after, signal) =>
    body(api.GET("/api/v1/auth/keys", { params: { query: { limit: PAGE_SIZE, after } }, signal })),
  );
}

export function usePlatformKeys() {
  return useListing(["platform-keys", PLATFORM], (after, signal) =>
    body(api.GET("/api/v1/platform-keys", { params: { query: { limit: PAGE_SIZE, after } }, signal })),
  );
}

export function useSecretKeys() {
  return useListing(["secret-keys", PLATFORM], (after, signal) =>
    body(api.GET("/api/v1/secret-keys", { params: { query: { limit: PAGE_SIZE, after } }, signal })),
  );
}
