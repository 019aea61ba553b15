// Tenants, their projects, quotas, and the apps that they are entitled to.
import type { ActionSpec } from "../actions/spec";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { invalidateAfter } from "../api/stale";
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
      "x-ui": { help: "Lower-case letters, digits and dashes. It cannot be changed later." },
    },
  },
};

const RENAMED = {
  type: "object",
  required: ["name"],
  properties: { name: { type: "string", minLength: 1, maxLength: 100 } },
};

function limited(label: string, help: string, minimum = 0) {
  return { type: "integer", minimum, "x-ui": { label, help } };
}

const LIMIT = {
  type: "object",
  properties: {
    gpu_limit: limited("GPU limit", "Empty: no limit. GPUs in use stay."),
    artifact_limit: limited("Artifact limit", "Empty: no change."),
    artifact_byte_limit: limited("Artifact bytes limit", "Empty: no change."),
    unproven_gpu_limit: limited(
      "Unproven GPU limit",
      "GPUs of releases that are not proven clean. At the limit, the tenant gets no more allocations. Empty: no change.",
    ),
    stream_limit: limited(
      "Stream limit",
      "Open watches, long polls and terminals at one api process. Empty: no change.",
      1,
    ),
  },
};

/** The answer of a change, once tenants and projects are being read again. */
export function refetchAfter<T>(answer: Promise<T>): Promise<T> {
  return invalidateAfter(answer, ["tenants", "platform"]).then((done) => {
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
    refetchAfter(
      body(api.POST("/api/v1/tenants", { body: { name: String(values.name), slug: String(values.slug) } })),
    ),
  done: "Tenant created",
};

export const tenantRenameSpec: ActionSpec<Tenant> = {
  label: "Rename",
  form: RENAMED,
  run: (one, values) =>
    refetchAfter(
      body(
        api.PATCH("/api/v1/tenants/{tenant_id}", { params: at(one), body: { name: String(values.name) } }),
      ),
    ),
  done: "Renamed",
};

export const tenantWipeSpec: ActionSpec<Tenant> = {
  label: "Set wipe grade",
  description: (one) =>
    `Wipes of the tenant's whole hosts must reach at least ${one.wipe_grade}, or the SKU's grade if that is higher.`,
  form: {
    type: "object",
    required: ["wipe_grade"],
    properties: { wipe_grade: { type: "string", enum: ["inspected", "rebooted"] } },
  },
  run: (one, values) =>
    refetchAfter(
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
  description: () => "Its users can read everything and end what runs, but change nothing else.",
  run: (one) =>
    refetchAfter(
      body(api.PATCH("/api/v1/tenants/{tenant_id}", { params: at(one), body: { disabled: true } })),
    ),
  done: "Disabled",
};

export const tenantEnableSpec: ActionSpec<Tenant> = {
  label: "Enable",
  run: (one) =>
    refetchAfter(
      body(api.PATCH("/api/v1/tenants/{tenant_id}", { params: at(one), body: { disabled: false } })),
    ),
  done: "Enabled",
};

export const tenantQuotaSpec: ActionSpec<Tenant> = {
  label: "Set quota",
  description: () => "For all projects of the tenant together.",
  form: LIMIT,
  run: (one, values) =>
    refetchAfter(
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

/** Empty limits do not change, except that of GPUs, where empty means no limit. */
function limitsOf(values: Record<string, unknown>) {
  const given = ["artifact_limit", "artifact_byte_limit", "unproven_gpu_limit", "stream_limit"]
    .map((name) => [name, limitOf(values[name])] as const)
    .filter(([, value]) => value !== null);
  return { gpu_limit: limitOf(values.gpu_limit), ...Object.fromEntries(given) };
}

export const projectCreateSpec: ActionSpec<Tenant> = {
  label: "New project",
  primary: true,
  form: NAMED,
  run: (one, values) =>
    refetchAfter(
      body(
        api.POST("/api/v1/tenants/{tenant_id}/projects", {
          params: at(one),
          body: { name: String(values.name), slug: String(values.slug) },
        }),
      ),
    ),
  done: "Project created",
};

function updated(one: Project, change: { name?: string; disabled?: boolean }) {
  return refetchAfter(
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
  description: () => "Its users can read everything and end what runs, but change nothing else.",
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
    invalidateAfter(
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
    properties: {
      app: { type: "string", "x-ui": { label: "App", help: "Its slug." } },
      consent: {
        type: "boolean",
        "x-ui": {
          label: "Consent for the tenant",
          help: "For apps of the platform: their controller may work in the tenant at once. The tenant can withdraw it.",
        },
      },
    },
  },
  run: (one, values) =>
    refetchAfter(
      body(
        api.POST("/api/v1/tenants/{tenant_id}/entitlements", {
          params: at(one),
          body: { app: String(values.app), consent: values.consent ? "default" : "none" },
        }),
      ),
    ),
  done: "Entitled",
};

export const entitlementRevokeSpec: ActionSpec<Entitlement> = {
  label: "Revoke",
  danger: true,
  description: () => "Running instances continue. No new one can be launched.",
  run: (one) =>
    refetchAfter(
      body(
        api.DELETE("/api/v1/tenants/{tenant_id}/entitlements/{entitlement_id}", {
          params: { path: { tenant_id: one.tenant_id, entitlement_id: one.id } },
        }),
      ),
    ),
  done: "Revoked",
};
