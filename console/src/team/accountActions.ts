// Service accounts: what programs log in as.
import type { ActionSpec, ActionTable } from "../actions/spec";
import { api, body } from "../api/client";
import { invalidateAfter } from "../api/stale";
import type {
  Project,
  ServiceAccount,
  ServiceAccountCreate,
  ServiceAccountKey,
  ServiceAccountUpdate,
} from "../api/types";
import type { Secret } from "../parts/OneTimeSecret";

type Scope = ServiceAccountCreate["scopes"][number];

// As keys, since the compiler then misses one that the contract has and this has not.
const SCOPES: Record<Scope, true> = {
  "allocations:read": true,
  "allocations:write": true,
  "apps:control": true,
  "apps:operate": true,
  "apps:provide": true,
  "artifacts:promote": true,
  "artifacts:publish": true,
  "artifacts:read": true,
  "credentials:read": true,
  "credentials:use": true,
  "events:read": true,
  "projects:read": true,
};

const SCOPE_FIELDS = {
  scopes: {
    type: "array",
    items: { type: "string", enum: Object.keys(SCOPES) },
    minItems: 1,
    "x-ui": { help: "What the account may do in the project." },
  },
  app_slugs: {
    type: "array",
    items: { type: "string" },
    "x-ui": {
      label: "Apps",
      help: "The apps whose operations it may claim and report on. apps:control needs at least one.",
      advanced: true,
    },
  },
};

export const accountCreateSpec: ActionSpec<Project, Secret> = {
  label: "New service account",
  primary: true,
  description: () => "Its first key is created with it and shown once.",
  form: {
    type: "object",
    required: ["name", "scopes"],
    properties: { name: { type: "string", minLength: 1, maxLength: 100 }, ...SCOPE_FIELDS },
  },
  run: async (project, values) => {
    const made = await invalidateAfter(
      body(
        api.POST("/api/v1/projects/{project_id}/service-accounts", {
          params: { path: { project_id: project.id } },
          body: {
            name: String(values.name),
            scopes: (values.scopes ?? []) as Scope[],
            app_slugs: (values.app_slugs ?? []) as string[],
          },
        }),
      ),
      ["service-accounts", project.id],
    );
    return keyShown(made.name, made.id, made.key.secret);
  },
  done: "Service account created",
};

export function keyShown(name: string, id: string, secret: string): Secret {
  return {
    title: `Key of ${name}`,
    description:
      "Shown once; the platform stores only a digest. Save it where the program reads its secrets.",
    parts: [
      { label: "Client ID", text: id },
      { label: "Client secret", text: secret },
    ],
  };
}

function at(one: ServiceAccount) {
  return { path: { project_id: one.project_id, service_account_id: one.id } };
}

function update(one: ServiceAccount, change: ServiceAccountUpdate) {
  return invalidateAfter(
    body(
      api.PATCH("/api/v1/projects/{project_id}/service-accounts/{service_account_id}", {
        params: at(one),
        body: change,
      }),
    ),
    ["service-accounts", one.project_id],
  );
}

export const accountKeySpec: ActionSpec<ServiceAccount, Secret> = {
  label: "New key",
  description: () => "Adds a key. Existing keys stay valid, so that the program can switch.",
  run: async (one) => {
    const made = await invalidateAfter(
      body(
        api.POST("/api/v1/projects/{project_id}/service-accounts/{service_account_id}/keys", {
          params: at(one),
          body: {},
        }),
      ),
      ["service-accounts", one.project_id],
    );
    return keyShown(one.name, one.id, made.secret);
  },
  done: "Key created",
};

export const accountKeyDeleteSpec = (one: ServiceAccount): ActionSpec<ServiceAccountKey> => ({
  label: "Delete",
  danger: true,
  description: () => "Programs that log in with it are refused from now on.",
  run: (key) =>
    invalidateAfter(
      body(
        api.DELETE("/api/v1/projects/{project_id}/service-accounts/{service_account_id}/keys/{key_id}", {
          params: { path: { ...at(one).path, key_id: key.id } },
        }),
      ),
      ["service-accounts", one.project_id],
    ),
  done: "Key deleted",
});

export const accountKeyUpdateSpec = (
  one: ServiceAccount,
  disabled: boolean,
): ActionSpec<ServiceAccountKey> => ({
  label: disabled ? "Disable" : "Enable",
  danger: disabled,
  description: () =>
    disabled
      ? "The key and its tokens are refused until you enable it again. The account's certificates end."
      : "Programs with its secret can log in again.",
  run: (key) =>
    invalidateAfter(
      body(
        api.PATCH("/api/v1/projects/{project_id}/service-accounts/{service_account_id}/keys/{key_id}", {
          params: { path: { ...at(one).path, key_id: key.id } },
          body: { disabled },
        }),
      ),
      ["service-accounts", one.project_id],
    ),
  done: disabled ? "Key disabled" : "Key enabled",
});

/** One operation of the API, in the words that people look for. */
export const ACCOUNT_CHANGES: ActionTable<ServiceAccount> = {
  scopes: {
    label: "Change scopes",
    description: (one) => `Replaces the current scopes: ${one.scopes.join(", ")}.`,
    form: { type: "object", required: ["scopes"], properties: SCOPE_FIELDS },
    run: (one, values) =>
      update(one, {
        scopes: (values.scopes ?? []) as Scope[],
        ...(values.app_slugs ? { app_slugs: values.app_slugs as string[] } : {}),
      }),
    done: "Scopes changed",
  },
  enable: { label: "Enable", run: (one) => update(one, { disabled: false }), done: "Enabled" },
  disable: {
    label: "Disable",
    danger: true,
    description: () => "The account gets no new tokens, and its existing tokens are refused now.",
    run: (one) => update(one, { disabled: true }),
    done: "Disabled",
  },
  require_certificate: {
    label: "Require certificate",
    danger: true,
    description: () =>
      "The account is refused without one of its client certificates. Tokens without a certificate end now.",
    run: (one) => update(one, { certificate_required: true }),
    done: "Certificate required",
  },
  allow_no_certificate: {
    label: "Make certificate optional",
    description: () => "The secret of a key is enough to log in again.",
    run: (one) => update(one, { certificate_required: false }),
    done: "Certificate optional",
  },
  service_account_delete: {
    label: "Delete",
    danger: true,
    description: () =>
      "Its keys, tokens, certificates and grants end now. This cannot be undone. The audit trail stays.",
    run: (one) =>
      invalidateAfter(
        body(
          api.DELETE("/api/v1/projects/{project_id}/service-accounts/{service_account_id}", {
            params: at(one),
          }),
        ),
        ["service-accounts", one.project_id],
      ),
    done: "Deleted",
  },
};

export function changesFor(one: ServiceAccount): string[] {
  if (!one.allowed_actions.includes("service_account_update")) return [];
  const certificate = one.certificate_required ? "allow_no_certificate" : "require_certificate";
  return ["scopes", certificate, one.disabled ? "enable" : "disable", ...one.allowed_actions];
}
