// Service accounts: what programs log in as.
import type { ActionSpec, ActionTable } from "../actions/spec";
import { api, body } from "../api/client";
import { thenStale } from "../api/stale";
import type { Project, ServiceAccount, ServiceAccountCreate, ServiceAccountKey } from "../api/types";
import type { Secret } from "../parts/ShownOnce";

type Scope = ServiceAccountCreate["scopes"][number];

// As keys, since the compiler then misses one that the contract has and this has not.
const SCOPES: Record<Scope, true> = {
  "allocations:read": true,
  "allocations:write": true,
  "apps:control": true,
  "apps:operate": true,
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
    "x-ui": { help: "What it may do in the project, and no more." },
  },
  app_slugs: {
    type: "array",
    items: { type: "string" },
    "x-ui": {
      label: "Apps",
      help: "The apps whose work it may claim and report on; apps:control needs at least one.",
      advanced: true,
    },
  },
};

export const accountCreateSpec: ActionSpec<Project, Secret> = {
  label: "New service account",
  primary: true,
  says: () => "Its first key is made with it and shown once.",
  form: {
    type: "object",
    required: ["name", "scopes"],
    properties: { name: { type: "string", minLength: 1, maxLength: 100 }, ...SCOPE_FIELDS },
  },
  run: async (project, values) => {
    const made = await thenStale(
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
  done: "Service account made",
};

export function keyShown(name: string, id: string, secret: string): Secret {
  return {
    title: `Key of ${name}`,
    says: "Shown once; only a digest is kept. Put it where the program reads its secrets.",
    parts: [
      { label: "Client id", text: id },
      { label: "Client secret", text: secret },
    ],
  };
}

function at(one: ServiceAccount) {
  return { path: { project_id: one.project_id, service_account_id: one.id } };
}

function update(one: ServiceAccount, change: { disabled?: boolean; scopes?: Scope[]; app_slugs?: string[] }) {
  return thenStale(
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
  says: () => "Beside those that it has, so that a program can change over.",
  run: async (one) => {
    const made = await thenStale(
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
  done: "Key made",
};

export const accountKeyDeleteSpec = (one: ServiceAccount): ActionSpec<ServiceAccountKey> => ({
  label: "Delete",
  danger: true,
  says: () => "Who logs in with it is refused from now on.",
  run: (key) =>
    thenStale(
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
  says: () =>
    disabled
      ? "It is refused, with the tokens that were got with it, until it is enabled again. The account's certificates end."
      : "Who has its secret can log in again.",
  run: (key) =>
    thenStale(
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
    says: (one) => `In place of all until now: ${one.scopes.join(", ")}.`,
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
    says: () => "It gets no token, and the tokens that it has are refused now.",
    run: (one) => update(one, { disabled: true }),
    done: "Disabled",
  },
  service_account_delete: {
    label: "Delete",
    danger: true,
    says: () => "For good: its keys, tokens, certificates and grants end now. The audit trail stays.",
    run: (one) =>
      thenStale(
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
  return ["scopes", one.disabled ? "enable" : "disable", ...one.allowed_actions];
}
