// Tenants, their projects, quotas, and the apps that they are entitled to.
import type { ActionSpec } from "../actions/spec";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { thenStale } from "../api/stale";
import type { AskedWipeGrade, Entitlement, Project, Tenant } from "../api/types";
import { queries } from "../app/queries";

const NAMED = {
  type: "object",
  required: ["name", "slug"],
  properties: {
    name: { type: "string", minLength: 1, maxLength: 100 },
    slug: {
      type: "string",
      pattern: "^[a-z][a-z0-9-]{1,38}[a-z0-9]$",
      "x-ui": { help: "Lower-case letters, digits and dashes. It does not change." },
    },
  },
};

const RENAMED = {
  type: "object",
  required: ["name"],
  properties: { name: { type: "string", minLength: 1, maxLength: 100 } },
};

function limited(label: string, help: string) {
  return { type: "integer", minimum: 0, "x-ui": { label, help } };
}

const LIMIT = {
  type: "object",
  properties: {
    gpu_limit: limited("GPUs at most", "Empty: no limit. What is in use stays."),
    artifact_limit: limited("Artifacts at most", "Empty: as it is now."),
    artifact_byte_limit: limited("Bytes of artifacts at most", "Empty: as it is now."),
    unproven_gpu_limit: limited(
      "Unproven GPUs at most",
      "Released, but not proven clean. At the limit nothing more is given. Empty: as it is now.",
    ),
  },
};

/** The answer of a change, once tenants and projects are being read again. */
export function told<T>(answer: Promise<T>): Promise<T> {
  return thenStale(answer, ["tenants", "platform"]).then((done) => {
    void queries.invalidateQueries({ queryKey: keys.projects });
    return done;
  });
}

function at(one: Tenant) {
  return { path: { tenant_id: one.id } };
}

export const tenantCreateSpec: ActionSpec<null> = {
  label: "New tenant",
  primary: true,
  form: NAMED,
  run: (_, values) =>
    told(
      body(api.POST("/api/v1/tenants", { body: { name: String(values.name), slug: String(values.slug) } })),
    ),
  done: "Tenant made",
};

export const tenantRenameSpec: ActionSpec<Tenant> = {
  label: "Rename",
  form: RENAMED,
  run: (one, values) =>
    told(
      body(
        api.PATCH("/api/v1/tenants/{tenant_id}", { params: at(one), body: { name: String(values.name) } }),
      ),
    ),
  done: "Renamed",
};

export const tenantWipeSpec: ActionSpec<Tenant> = {
  label: "Wipe grade",
  says: (one) =>
    `Whole hosts of the tenant are wiped to at least ${one.wipe_grade}, or what the SKU asks for.`,
  form: {
    type: "object",
    required: ["wipe_grade"],
    properties: { wipe_grade: { type: "string", enum: ["inspected", "rebooted"] } },
  },
  run: (one, values) =>
    told(
      body(
        api.PATCH("/api/v1/tenants/{tenant_id}", {
          params: at(one),
          body: { wipe_grade: values.wipe_grade as AskedWipeGrade },
        }),
      ),
    ),
  done: "Set",
};

export const tenantDisableSpec: ActionSpec<Tenant> = {
  label: "Disable",
  danger: true,
  says: () => "Its people may read and end what runs, and change nothing else.",
  run: (one) =>
    told(body(api.PATCH("/api/v1/tenants/{tenant_id}", { params: at(one), body: { disabled: true } }))),
  done: "Disabled",
};

export const tenantEnableSpec: ActionSpec<Tenant> = {
  label: "Enable",
  run: (one) =>
    told(body(api.PATCH("/api/v1/tenants/{tenant_id}", { params: at(one), body: { disabled: false } }))),
  done: "Enabled",
};

export const tenantQuotaSpec: ActionSpec<Tenant> = {
  label: "Set quota",
  says: () => "For all projects of the tenant together.",
  form: LIMIT,
  run: (one, values) =>
    told(
      body(
        api.PUT("/api/v1/tenants/{tenant_id}/quota", {
          params: at(one),
          body: limitsOf(values),
        }),
      ),
    ),
  done: "Quota set",
};

function limitOf(value: unknown): number | null {
  return value === undefined || value === null || value === "" ? null : Number(value);
}

/** What is not said stays, but for GPUs, where nothing is a limit of its own kind: none. */
function limitsOf(values: Record<string, unknown>) {
  const said = ["artifact_limit", "artifact_byte_limit", "unproven_gpu_limit"]
    .map((name) => [name, limitOf(values[name])] as const)
    .filter(([, value]) => value !== null);
  return { gpu_limit: limitOf(values.gpu_limit), ...Object.fromEntries(said) };
}

export const projectCreateSpec: ActionSpec<Tenant> = {
  label: "New project",
  primary: true,
  form: NAMED,
  run: (one, values) =>
    told(
      body(
        api.POST("/api/v1/tenants/{tenant_id}/projects", {
          params: at(one),
          body: { name: String(values.name), slug: String(values.slug) },
        }),
      ),
    ),
  done: "Project made",
};

function updated(one: Project, change: { name?: string; disabled?: boolean }) {
  return told(
    body(
      api.PATCH("/api/v1/projects/{project_id}", { params: { path: { project_id: one.id } }, body: change }),
    ),
  );
}

export const projectRenameSpec: ActionSpec<Project> = {
  label: "Rename",
  form: RENAMED,
  run: (one, values) => updated(one, { name: String(values.name) }),
  done: "Renamed",
};

export const projectDisableSpec: ActionSpec<Project> = {
  label: "Disable",
  danger: true,
  says: () => "Its people may read and end what runs, and change nothing else.",
  run: (one) => updated(one, { disabled: true }),
  done: "Disabled",
};

export const projectEnableSpec: ActionSpec<Project> = {
  label: "Enable",
  run: (one) => updated(one, { disabled: false }),
  done: "Enabled",
};

export const projectQuotaSpec: ActionSpec<Project> = {
  label: "Set quota",
  form: LIMIT,
  run: (one, values) =>
    thenStale(
      body(
        api.PUT("/api/v1/projects/{project_id}/quota", {
          params: { path: { project_id: one.id } },
          body: limitsOf(values),
        }),
      ),
      ["quota", one.id],
    ),
  done: "Quota set",
};

export const entitleSpec: ActionSpec<Tenant> = {
  label: "Entitle to an app",
  form: {
    type: "object",
    required: ["app"],
    properties: { app: { type: "string", "x-ui": { label: "App", help: "Its slug." } } },
  },
  run: (one, values) =>
    told(
      body(
        api.POST("/api/v1/tenants/{tenant_id}/entitlements", {
          params: at(one),
          body: { app: String(values.app) },
        }),
      ),
    ),
  done: "Entitled",
};

export const entitlementRevokeSpec: ActionSpec<Entitlement> = {
  label: "Revoke",
  danger: true,
  says: () => "What runs goes on; nothing new is launched from it.",
  run: (one) =>
    told(
      body(
        api.DELETE("/api/v1/tenants/{tenant_id}/entitlements/{entitlement_id}", {
          params: { path: { tenant_id: one.tenant_id, entitlement_id: one.id } },
        }),
      ),
    ),
  done: "Revoked",
};
