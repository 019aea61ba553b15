// What administrators do to the platform as a whole.
import { type ActionSpec, type ActionTable, REASON, REASON_FORM } from "../actions/spec";
import { api, body } from "../api/client";
import type { components } from "../api/schema";
import { invalidateAfter } from "../api/stale";
import type { App, AskedWipeGrade, Sku, User } from "../api/types";
import { queries } from "../app/queries";
import type { Schema } from "../forms/schema";
import type { Secret } from "../parts/OneTimeSecret";
import { labelOf } from "../parts/states";
import { PERSON_FORM, passwordShown } from "../team/userActions";

type SigningKey = components["schemas"]["SigningKey"];
type PlatformKey = components["schemas"]["PlatformKey"];
type RotatedKind = components["schemas"]["PlatformKeyRotate"]["kind"];

const COUNTS: Schema = {
  type: "array",
  items: { type: "string", pattern: "^[0-9]+$" },
  minItems: 1,
  "x-ui": { label: "GPU counts", help: "How many GPUs one allocation may have." },
};
const GRADE: Schema = {
  type: "string",
  enum: ["inspected", "rebooted"],
  "x-ui": {
    label: "Wipe grade",
    help: "The grade that a wipe must reach. Default for whole hosts: rebooted.",
    advanced: true,
  },
};
const ACCEPTED: Schema = {
  type: "array",
  items: { type: "string", pattern: "^[a-z][a-z_]+$" },
  "x-ui": {
    label: "Checks that may be skipped",
    help: "A release is accepted although these wipe checks did not look, for example drives on nodes that do not erase them.",
    advanced: true,
  },
};

/** What was chosen for the wipe; nothing: as it is, or the default. */
function wipeChoices(values: Record<string, unknown>): {
  wipe_grade?: AskedWipeGrade;
  accept_not_examined?: string[];
} {
  return {
    ...(values.wipe_grade ? { wipe_grade: values.wipe_grade as AskedWipeGrade } : {}),
    ...(Array.isArray(values.accept_not_examined) && values.accept_not_examined.length
      ? { accept_not_examined: values.accept_not_examined.map(String) }
      : {}),
  };
}

const PRICE: Schema = {
  type: "integer",
  minimum: 0,
  "x-ui": { label: "Price per GPU-hour", help: "In minor units: 250 is 2.50." },
};

async function refetchAfter<T>(answer: Promise<T>, ...names: string[]): Promise<T> {
  const done = await answer;
  for (const name of names) void queries.invalidateQueries({ queryKey: [name, "platform"] });
  return done;
}

export const skuCreateSpec: ActionSpec<null> = {
  label: "New SKU",
  primary: true,
  form: {
    type: "object",
    required: ["name", "shape", "gpu_model", "gpu_counts", "price_per_gpu_hour_minor"],
    properties: {
      name: {
        type: "string",
        pattern: "^[a-z][a-z0-9-]{1,38}[a-z0-9]$",
        "x-ui": { placeholder: "h100-slice" },
      },
      shape: { type: "string", enum: ["gpu_slice", "baremetal"], default: "gpu_slice" },
      gpu_model: {
        type: "string",
        minLength: 2,
        "x-ui": { label: "GPU model", help: "The name in the inventory of the nodes." },
      },
      gpu_counts: COUNTS,
      price_per_gpu_hour_minor: PRICE,
      currency: { type: "string", pattern: "^[A-Z]{3}$", default: "USD" },
      wipe_grade: GRADE,
      accept_not_examined: ACCEPTED,
    },
  },
  run: (_, values) =>
    refetchAfter(
      body(
        api.POST("/api/v1/skus", {
          body: {
            name: String(values.name),
            shape: values.shape as Sku["shape"],
            gpu_model: String(values.gpu_model),
            gpu_counts: (values.gpu_counts as string[]).map(Number),
            price_per_gpu_hour_minor: Number(values.price_per_gpu_hour_minor),
            currency: String(values.currency ?? "USD"),
            offered: true,
            accept_not_examined: [],
            ...wipeChoices(values),
          },
        }),
      ),
      "skus",
    ),
  done: "Offered",
};

function skuUpdated(
  one: Sku,
  change: {
    offered?: boolean;
    price_per_gpu_hour_minor?: number;
    gpu_counts?: number[];
    wipe_grade?: AskedWipeGrade;
    accept_not_examined?: string[];
  },
) {
  return refetchAfter(
    body(api.PATCH("/api/v1/skus/{sku_id}", { params: { path: { sku_id: one.id } }, body: change })),
    "skus",
  );
}

/** The form begins with what the SKU has. */
export const skuChangeSpec = (sku: Sku): ActionSpec<Sku> => ({
  label: "Change",
  description: () =>
    "Existing allocations keep their price. The wipe grade applies from the next release on.",
  form: {
    type: "object",
    required: ["gpu_counts", "price_per_gpu_hour_minor"],
    properties: {
      gpu_counts: { ...COUNTS, default: sku.gpu_counts.map(String) },
      price_per_gpu_hour_minor: { ...PRICE, default: sku.price_per_gpu_hour_minor },
      wipe_grade: { ...GRADE, default: sku.wipe_grade },
      accept_not_examined: { ...ACCEPTED, default: sku.accept_not_examined },
    },
  },
  run: (one, values) =>
    skuUpdated(one, {
      gpu_counts: (values.gpu_counts as string[]).map(Number),
      price_per_gpu_hour_minor: Number(values.price_per_gpu_hour_minor),
      ...wipeChoices(values),
      accept_not_examined: ((values.accept_not_examined ?? []) as unknown[]).map(String),
    }),
  done: "Changed",
});

export const skuOfferSpec = (offered: boolean): ActionSpec<Sku> => ({
  label: offered ? "Offer" : "Stop offering",
  description: () =>
    offered
      ? "New allocations can use this SKU."
      : "Existing allocations stay. New ones cannot use this SKU.",
  run: (one) => skuUpdated(one, { offered }),
  done: offered ? "Offered" : "No longer offered",
});

export const visibilitySpec: ActionSpec<App> = {
  label: "Change visibility",
  description: (one) => `The app is ${one.visibility} now.`,
  form: {
    type: "object",
    required: ["visibility", "reason"],
    properties: {
      visibility: { type: "string", enum: ["private", "entitled", "public"] },
      reason: REASON,
    },
  },
  run: (one, values) =>
    refetchAfter(
      body(
        api.PUT("/api/v1/apps/{app_id}/visibility", {
          params: { path: { app_id: one.id } },
          body: { visibility: values.visibility as App["visibility"], reason: String(values.reason) },
        }),
      ),
      "apps",
    ),
  done: "Set",
};

export const platformUserSpec: ActionSpec<null, Secret | null> = {
  label: "New platform user",
  primary: true,
  description: () => "The user belongs to no tenant. The password is generated and shown once.",
  form: PERSON_FORM,
  run: async (_, values) => {
    const made = await invalidateAfter(
      body(api.POST("/api/v1/users", { body: { email: String(values.email), name: String(values.name) } })),
      ["users", "platform"],
    );
    return passwordShown(made.email, made.initial_password);
  },
  done: "User created",
};

const roleSpec: ActionSpec<User> = {
  label: "Platform role",
  form: {
    type: "object",
    required: ["role"],
    properties: {
      role: {
        type: "string",
        enum: ["platform_operator", "platform_admin", "none"],
        "x-ui": { words: true },
        default: "platform_operator",
      },
    },
  },
  run: (one, values) => {
    const params = { path: { user_id: one.id } };
    const answer =
      values.role === "none"
        ? body(api.DELETE("/api/v1/users/{user_id}/platform-role", { params }))
        : body(
            api.PUT("/api/v1/users/{user_id}/platform-role", {
              params,
              body: { role: values.role as "platform_operator" | "platform_admin" },
            }),
          );
    return invalidateAfter<unknown>(answer, ["users", "platform"]);
  },
  done: "Role set",
};

const platformUserUpdateSpec = (disabled: boolean): ActionSpec<User> => ({
  label: disabled ? "Disable" : "Enable",
  danger: disabled,
  description: () =>
    disabled ? "They cannot log in, and their sessions end now." : "They can log in again.",
  run: (one) =>
    invalidateAfter(
      body(
        api.PATCH("/api/v1/users/{user_id}", { params: { path: { user_id: one.id } }, body: { disabled } }),
      ),
      ["users", "platform"],
    ),
  done: disabled ? "Disabled" : "Enabled",
});

const platformUnlockSpec: ActionSpec<User> = {
  label: "Unlock",
  description: () => "Ends the user's lockouts after wrong passwords, in all networks.",
  run: (one) => body(api.POST("/api/v1/users/{user_id}/unlock", { params: { path: { user_id: one.id } } })),
  done: "Unlocked",
};

const platformUserDeleteSpec: ActionSpec<User> = {
  label: "Delete",
  danger: true,
  description: () =>
    "Name and e-mail address are removed and all access ends now. This cannot be undone. The audit trail keeps the ID.",
  run: (one) =>
    invalidateAfter(body(api.DELETE("/api/v1/users/{user_id}", { params: { path: { user_id: one.id } } })), [
      "users",
      "platform",
    ]),
  done: "Deleted",
};

export const platformUserActions: ActionTable<User> = {
  platform_role_set: roleSpec,
  user_unlock: platformUnlockSpec,
  enable: platformUserUpdateSpec(false),
  disable: platformUserUpdateSpec(true),
  user_delete: platformUserDeleteSpec,
};

/** Enabling and disabling are one operation of the API, of which one fits. */
export function offeredForPlatformUser(one: User): string[] {
  const update = one.allowed_actions.includes("user_update") ? [one.disabled ? "enable" : "disable"] : [];
  return [...one.allowed_actions, ...update];
}

export const signingRotateSpec: ActionSpec<null> = {
  label: "Rotate",
  description: () =>
    "A new key signs access tokens from now on. The old key verifies its tokens until they expire.",
  run: () => refetchAfter(body(api.POST("/api/v1/auth/keys")), "signing-keys"),
  done: "Rotated",
};

export const signingRevokeSpec: ActionSpec<SigningKey> = {
  label: "Revoke",
  danger: true,
  description: () => "Tokens signed with this key are refused immediately. Their users must log in again.",
  run: (one) =>
    refetchAfter(
      body(
        api.DELETE("/api/v1/auth/keys/{signing_key_id}", { params: { path: { signing_key_id: one.id } } }),
      ),
      "signing-keys",
    ),
  done: "Revoked",
};

export const platformRotateSpec: ActionSpec<null> = {
  label: "Rotate",
  description: () => "Creates a new key. The old one stays trusted until you retire it.",
  form: {
    type: "object",
    required: ["kind", "reason"],
    properties: {
      kind: {
        type: "string",
        enum: ["task_signing", "ssh_user_ca", "ssh_host_ca", "tls_ca", "client_ca", "registry_token"],
        "x-ui": { label: "Key", words: true },
      },
      reason: REASON,
    },
  },
  run: (_, values) =>
    refetchAfter(
      body(
        api.POST("/api/v1/platform-keys/rotate", {
          body: { kind: values.kind as RotatedKind, reason: String(values.reason) },
        }),
      ),
      "platform-keys",
    ),
  done: "Rotated",
};

/** Of these, others may still depend on the key: retiring it is refused, unless somebody forces it. */
const FORCED: Partial<Record<PlatformKey["kind"], string>> = {
  tls_ca:
    "Retire it although some agents do not trust its successor yet. Those agents lose contact until they enrol again.",
  client_ca: "Retire it although certificates that it signed are in use. Those certificates end.",
};

export function platformRetireSpec(kind: PlatformKey["kind"]): ActionSpec<PlatformKey> {
  const help = FORCED[kind];
  const force: Schema = { type: "boolean", "x-ui": { label: "Force", help } };
  return {
    label: "Retire",
    danger: true,
    description: (one) =>
      `Ends the trust in this key (${labelOf(one.kind)}). Nothing that it signed is accepted any longer.`,
    form: {
      type: "object",
      required: ["reason"],
      properties: help ? { reason: REASON, force } : { reason: REASON },
    },
    run: (one, values) =>
      refetchAfter(
        body(
          api.POST("/api/v1/platform-keys/{platform_key_id}/retire", {
            params: { path: { platform_key_id: one.id } },
            body: { reason: String(values.reason), force: values.force === true },
          }),
        ),
        "platform-keys",
      ),
    done: "Retired",
  };
}

export const secretRotateSpec: ActionSpec<null> = {
  label: "Rotate",
  description: () =>
    "Secrets are rewrapped under a new key in the background. The old key is destroyed afterwards.",
  form: REASON_FORM,
  run: (_, values) =>
    refetchAfter(
      body(api.POST("/api/v1/secret-keys/rotate", { body: { reason: String(values.reason) } })),
      "secret-keys",
    ),
  done: "Rotating",
};
