// Whose signatures count.
import { type ActionSpec, REASON_FORM } from "../actions/spec";
import { api, body } from "../api/client";
import { invalidateAfter } from "../api/stale";
import type { Tenant, TrustKey } from "../api/types";

const TENANTS = ["tenants", "platform"] as ["tenants", string];

export const trustKeyCreateSpec: ActionSpec<Tenant> = {
  label: "Add a key",
  form: {
    type: "object",
    required: ["name", "public_key"],
    properties: {
      name: { type: "string", minLength: 1, maxLength: 100 },
      public_key: {
        type: "string",
        minLength: 50,
        maxLength: 4000,
        "x-ui": { label: "Public key", help: "PEM, as in cosign.pub.", multiline: true },
      },
    },
  },
  run: (one, values) =>
    invalidateAfter(
      body(
        api.POST("/api/v1/tenants/{tenant_id}/trust-keys", {
          params: { path: { tenant_id: one.id } },
          body: { name: String(values.name), public_key: String(values.public_key) },
        }),
      ),
      TENANTS,
    ),
  done: "Key added",
};

export const trustKeyRevokeSpec = (tenant: Tenant): ActionSpec<TrustKey> => ({
  label: "Revoke",
  danger: true,
  description: () => "Artifacts that only this key signed are no longer trusted.",
  form: REASON_FORM,
  run: (one, values) =>
    invalidateAfter(
      body(
        api.POST("/api/v1/tenants/{tenant_id}/trust-keys/{trust_key_id}/revoke", {
          params: { path: { tenant_id: tenant.id, trust_key_id: one.id } },
          body: { reason: String(values.reason) },
        }),
      ),
      TENANTS,
    ),
  done: "Revoked",
});

export const smokePolicySpec = (
  require_signature: boolean,
  require_smoke_launch: boolean,
): ActionSpec<Tenant> => ({
  label: require_smoke_launch ? "Require smoke launches" : "Do not require smoke launches",
  description: () =>
    require_smoke_launch
      ? "Artifacts of app versions can be staged only after the platform has launched them in a smoke launch."
      : "Artifacts can be staged with a smoke test of their publisher, without a smoke launch by the platform.",
  form: REASON_FORM,
  run: (one, values) =>
    invalidateAfter(
      body(
        api.PUT("/api/v1/tenants/{tenant_id}/trust-policy", {
          params: { path: { tenant_id: one.id } },
          body: { require_signature, require_smoke_launch, reason: String(values.reason) },
        }),
      ),
      TENANTS,
    ),
  done: "Policy set",
});

export const trustPolicySpec = (require_signature: boolean): ActionSpec<Tenant> => ({
  label: require_signature ? "Require signatures" : "Do not require signatures",
  form: REASON_FORM,
  run: (one, values) =>
    invalidateAfter(
      body(
        api.PUT("/api/v1/tenants/{tenant_id}/trust-policy", {
          params: { path: { tenant_id: one.id } },
          body: { require_signature, reason: String(values.reason) },
        }),
      ),
      TENANTS,
    ),
  done: "Policy set",
});
