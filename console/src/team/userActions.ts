// Users of a tenant: made, renamed, disabled, let in again.
import type { ActionSpec, ActionTable } from "../actions/spec";
import { api, body } from "../api/client";
import { invalidateAfter } from "../api/stale";
import type { Tenant, User } from "../api/types";
import type { Secret } from "../parts/OneTimeSecret";

export const PERSON_FORM = {
  type: "object",
  required: ["email", "name"],
  properties: {
    email: { type: "string", format: "email", minLength: 3, "x-ui": { label: "E-mail" } },
    name: { type: "string", minLength: 1, maxLength: 100 },
  },
};

export function passwordShown(email: string, password: string | null): Secret | null {
  if (!password) return null;
  return {
    title: `Password of ${email}`,
    description:
      "Shown once. Send it to the user over a secure channel. The user can change it under Credentials.",
    parts: [{ label: "Password", text: password }],
  };
}

export const userCreateSpec: ActionSpec<Tenant, Secret | null> = {
  label: "New user",
  primary: true,
  description: () => "The password is generated and shown once.",
  form: PERSON_FORM,
  run: async (tenant, values) => {
    const made = await invalidateAfter(
      body(
        api.POST("/api/v1/tenants/{tenant_id}/users", {
          params: { path: { tenant_id: tenant.id } },
          body: { email: String(values.email), name: String(values.name) },
        }),
      ),
      ["users", tenant.id],
    );
    return passwordShown(made.email, made.initial_password);
  },
  done: "User created",
};

type Change = { disabled?: boolean; name?: string; reset_password?: true };

function update(one: User, change: Change) {
  const tenant_id = one.tenant_id ?? "";
  return invalidateAfter(
    body(
      api.PATCH("/api/v1/tenants/{tenant_id}/users/{user_id}", {
        params: { path: { tenant_id, user_id: one.id } },
        body: change,
      }),
    ),
    ["users", tenant_id],
  );
}

function unlock(one: User) {
  const tenant_id = one.tenant_id ?? "";
  return body(
    api.POST("/api/v1/tenants/{tenant_id}/users/{user_id}/unlock", {
      params: { path: { tenant_id, user_id: one.id } },
    }),
  );
}

function deleteUser(one: User) {
  const tenant_id = one.tenant_id ?? "";
  return invalidateAfter(
    body(
      api.DELETE("/api/v1/tenants/{tenant_id}/users/{user_id}", {
        params: { path: { tenant_id, user_id: one.id } },
      }),
    ),
    ["users", tenant_id],
  );
}

/** The update that a row offers, in the words that people look for. */
export function userActions(show: (secret: Secret | null) => void): ActionTable<User> {
  return {
    rename: {
      label: "Rename",
      form: {
        type: "object",
        required: ["name"],
        properties: { name: { type: "string", minLength: 1, maxLength: 100 } },
      },
      run: (one, values) => update(one, { name: String(values.name) }),
      done: "Renamed",
    },
    reset: {
      label: "New password",
      description: () => "Generates a new password, shown once, and ends the user's sessions.",
      run: async (one) => {
        const changed = await update(one, { reset_password: true });
        show(passwordShown(changed.email, changed.initial_password));
      },
      done: "Password set",
    },
    unlock: {
      label: "Unlock",
      description: () => "Ends the user's lockouts after wrong passwords, in all networks.",
      run: unlock,
      done: "Unlocked",
    },
    tenant_user_delete: {
      label: "Delete",
      danger: true,
      description: () =>
        "Name and e-mail address are removed and all access ends now. This cannot be undone. The audit trail keeps the ID.",
      run: deleteUser,
      done: "Deleted",
    },
    enable: { label: "Enable", run: (one) => update(one, { disabled: false }), done: "Enabled" },
    disable: {
      label: "Disable",
      danger: true,
      description: () => "They cannot log in, and their sessions end now. Nothing is deleted.",
      run: (one) => update(one, { disabled: true }),
      done: "Disabled",
    },
  };
}

/** Which of them fit: renaming, enabling and the like are one operation of the API. */
export function offeredFor(one: User): string[] {
  const unlocks = one.allowed_actions.includes("tenant_user_unlock") ? ["unlock"] : [];
  if (!one.allowed_actions.some((action) => action.endsWith("user_update"))) return unlocks;
  const deletes = one.allowed_actions.includes("tenant_user_delete") ? ["tenant_user_delete"] : [];
  return ["rename", "reset", ...unlocks, one.disabled ? "enable" : "disable", ...deletes];
}
