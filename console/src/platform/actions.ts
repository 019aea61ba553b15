// What administrators do to the platform as a whole.
import { type ActionSpec, type ActionTable, REASON, REASON_FORM } from "../actions/spec";
import { api, body } from "../api/client";
import type { components } from "../api/schema";
import { thenStale } from "../api/stale";
import type { App, AskedWipeGrade, Sku, User } from "../api/types";
import { queries } from "../app/queries";
import type { Schema } from "../forms/schema";
import type { Secret } from "../parts/ShownOnce";
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
    help: "What a wipe has to reach. Whole hosts are restarted (rebooted), if nothing is chosen.",
    advanced: true,
  },
};
const ACCEPTED: Schema = {
  type: "array",
  items: { type: "string", pattern: "^[a-z][a-z_]+$" },
  "x-ui": {
    label: "Checks that need not look",
    help: "For instance drives, where nodes do not erase them.",
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
  "x-ui": { label: "Price for a GPU and hour", help: "In minor units: 250 is 2.50." },
};

async function reread<T>(answer: Promise<T>, ...names: string[]): Promise<T> {
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
        "x-ui": { label: "GPU model", help: "As the inventory of the nodes names it." },
      },
      gpu_counts: COUNTS,
      price_per_gpu_hour_minor: PRICE,
      currency: { type: "string", pattern: "^[A-Z]{3}$", default: "USD" },
      wipe_grade: GRADE,
      accept_not_examined: ACCEPTED,
    },
  },
  run: (_, values) =>
    reread(
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
  return reread(
    body(api.PATCH("/api/v1/skus/{sku_id}", { params: { path: { sku_id: one.id } }, body: change })),
    "skus",
  );
}

export const skuPriceSpec: ActionSpec<Sku> = {
  label: "Change",
  says: () => "Allocations that exist keep what they got.",
  form: {
    type: "object",
    properties: {
      gpu_counts: COUNTS,
      price_per_gpu_hour_minor: PRICE,
      wipe_grade: GRADE,
      accept_not_examined: ACCEPTED,
    },
  },
  run: (one, values) =>
    skuUpdated(one, {
      ...(Array.isArray(values.gpu_counts) && values.gpu_counts.length
        ? { gpu_counts: values.gpu_counts.map(Number) }
        : {}),
      ...(values.price_per_gpu_hour_minor === undefined
        ? {}
        : { price_per_gpu_hour_minor: Number(values.price_per_gpu_hour_minor) }),
      ...wipeChoices(values),
    }),
  done: "Changed",
};

export const skuOfferSpec = (offered: boolean): ActionSpec<Sku> => ({
  label: offered ? "Offer" : "Stop offering",
  says: () => (offered ? "New allocations may name it." : "What runs stays; nothing new is given."),
  run: (one) => skuUpdated(one, { offered }),
  done: offered ? "Offered" : "Not offered any more",
});

export const visibilitySpec: ActionSpec<App> = {
  label: "Who sees it",
  says: (one) => `It is ${one.visibility} now.`,
  form: {
    type: "object",
    required: ["visibility", "reason"],
    properties: {
      visibility: { type: "string", enum: ["private", "entitled", "public"] },
      reason: REASON,
    },
  },
  run: (one, values) =>
    reread(
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
  label: "New user of the platform",
  primary: true,
  says: () => "Belongs to no tenant. A password is made and shown once.",
  form: PERSON_FORM,
  run: async (_, values) => {
    const made = await thenStale(
      body(api.POST("/api/v1/users", { body: { email: String(values.email), name: String(values.name) } })),
      ["users", "platform"],
    );
    return passwordShown(made.email, made.initial_password);
  },
  done: "User made",
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
    return thenStale<unknown>(answer, ["users", "platform"]);
  },
  done: "Role set",
};

const platformUserUpdateSpec = (disabled: boolean): ActionSpec<User> => ({
  label: disabled ? "Disable" : "Enable",
  danger: disabled,
  says: () => (disabled ? "They can not log in, and their sessions end now." : "They can log in again."),
  run: (one) =>
    thenStale(
      body(
        api.PATCH("/api/v1/users/{user_id}", { params: { path: { user_id: one.id } }, body: { disabled } }),
      ),
      ["users", "platform"],
    ),
  done: disabled ? "Disabled" : "Enabled",
});

const platformUnlockSpec: ActionSpec<User> = {
  label: "Unlock",
  says: () => "Ends their lockouts after wrong passwords now, in all networks.",
  run: (one) => body(api.POST("/api/v1/users/{user_id}/unlock", { params: { path: { user_id: one.id } } })),
  done: "Unlocked",
};

const platformUserDeleteSpec: ActionSpec<User> = {
  label: "Delete",
  danger: true,
  says: () =>
    "For good: name and e-mail address are removed, and all access ends now. The audit trail keeps the id.",
  run: (one) =>
    thenStale(body(api.DELETE("/api/v1/users/{user_id}", { params: { path: { user_id: one.id } } })), [
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
  says: () => "A new key signs access tokens from now on. The old one verifies until its tokens have ended.",
  run: () => reread(body(api.POST("/api/v1/auth/keys")), "signing-keys"),
  done: "Rotated",
};

export const signingRevokeSpec: ActionSpec<SigningKey> = {
  label: "Revoke",
  danger: true,
  says: () => "Tokens that it signed are refused at once: people log in again.",
  run: (one) =>
    reread(
      body(
        api.DELETE("/api/v1/auth/keys/{signing_key_id}", { params: { path: { signing_key_id: one.id } } }),
      ),
      "signing-keys",
    ),
  done: "Revoked",
};

export const platformRotateSpec: ActionSpec<null> = {
  label: "Rotate",
  form: {
    type: "object",
    required: ["kind", "reason"],
    properties: {
      kind: {
        type: "string",
        enum: ["task_signing", "ssh_user_ca", "ssh_host_ca", "tls_ca", "client_ca", "registry_token"],
      },
      reason: REASON,
    },
  },
  run: (_, values) =>
    reread(
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
  tls_ca: "Also while agents do not trust its successor. They are cut off until they enrol again.",
  client_ca: "Also while certificates that it signed are in use. They end.",
};

export function platformRetireSpec(kind: PlatformKey["kind"]): ActionSpec<PlatformKey> {
  const help = FORCED[kind];
  const force: Schema = { type: "boolean", "x-ui": { label: "Force", help } };
  return {
    label: "Retire",
    danger: true,
    says: () => "Nothing that it signed is trusted any more.",
    form: {
      type: "object",
      required: ["reason"],
      properties: help ? { reason: REASON, force } : { reason: REASON },
    },
    run: (one, values) =>
      reread(
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
  says: () => "Secrets are put under a new key, bit by bit; the old one is destroyed after the last.",
  form: REASON_FORM,
  run: (_, values) =>
    reread(
      body(api.POST("/api/v1/secret-keys/rotate", { body: { reason: String(values.reason) } })),
      "secret-keys",
    ),
  done: "Rotating",
};
