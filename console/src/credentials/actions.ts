// What can be asked of the project's credentials, and of one's own keys.
import { type ActionSpec, type ActionTable, REASON_FORM } from "../actions/spec";
import { api, body } from "../api/client";
import { invalidateAfter } from "../api/stale";
import type { AccessCredential, Project, SshKey } from "../api/types";
import { MINE } from "./queries";

const NAME = { type: "string", minLength: 1, maxLength: 100 } as const;

function at(one: AccessCredential) {
  return { path: { project_id: one.project_id, credential_id: one.id } };
}

export const credentialCreateSpec: ActionSpec<Project> = {
  label: "New credential",
  primary: true,
  description: () =>
    "A certificate credential stores nothing. The platform generates and stores an SSH key, and delivers it sealed.",
  form: {
    type: "object",
    required: ["name", "kind"],
    properties: {
      name: NAME,
      kind: { type: "string", enum: ["ssh_certificate", "ssh_key"], default: "ssh_certificate" },
    },
  },
  run: (project, values) =>
    invalidateAfter(
      body(
        api.POST("/api/v1/projects/{project_id}/access-credentials", {
          params: { path: { project_id: project.id } },
          body: { name: String(values.name), kind: values.kind as AccessCredential["kind"] },
        }),
      ),
      ["credentials", project.id],
    ),
  done: "Credential created",
};

export const CREDENTIAL_ACTIONS: ActionTable<AccessCredential> = {
  access_credential_rotate: {
    label: "Rotate",
    description: () =>
      "Creates a new key pair. Hosts accept it within seconds, and accept the old key until the overlap ends.",
    form: {
      type: "object",
      properties: {
        overlap_minutes: {
          type: "integer",
          minimum: 0,
          maximum: 1440,
          default: 0,
          "x-ui": { label: "Overlap in minutes" },
        },
      },
    },
    run: (one, values) =>
      invalidateAfter(
        body(
          api.POST("/api/v1/projects/{project_id}/access-credentials/{credential_id}/rotate", {
            params: at(one),
            body: { overlap_minutes: Number(values.overlap_minutes ?? 0) },
          }),
        ),
        ["credentials", one.project_id],
      ),
    done: "Rotated",
  },
  access_credential_revoke: {
    label: "Revoke",
    danger: true,
    description: () => "Hosts refuse it within seconds. This cannot be undone.",
    form: REASON_FORM,
    run: (one, values) =>
      invalidateAfter(
        body(
          api.POST("/api/v1/projects/{project_id}/access-credentials/{credential_id}/revoke", {
            params: at(one),
            body: { reason: String(values.reason) },
          }),
        ),
        ["credentials", one.project_id],
      ),
    done: "Revoked",
  },
};

export const sshKeyCreateSpec: ActionSpec<null> = {
  label: "Add a key",
  description: () =>
    "Stores a public key that you can use in grants and new allocations. Keep the private key.",
  form: {
    type: "object",
    required: ["name", "public_key"],
    properties: {
      name: { ...NAME, "x-ui": { placeholder: "laptop" } },
      public_key: {
        type: "string",
        minLength: 20,
        maxLength: 4500,
        "x-ui": { label: "Public key", help: "One line, as in id_ed25519.pub.", multiline: true },
      },
    },
  },
  run: (_, values) =>
    invalidateAfter(
      body(
        api.POST("/api/v1/me/ssh-keys", {
          body: { name: String(values.name), public_key: String(values.public_key).trim() },
        }),
      ),
      ["ssh-keys", MINE],
    ),
  done: "Key added",
};

export const sshKeyDeleteSpec: ActionSpec<SshKey> = {
  label: "Delete",
  danger: true,
  description: () => "Existing grants of this key stay until they expire or you end them.",
  run: (one) =>
    invalidateAfter(
      body(api.DELETE("/api/v1/me/ssh-keys/{ssh_key_id}", { params: { path: { ssh_key_id: one.id } } })),
      ["ssh-keys", MINE],
    ),
  done: "Key deleted",
};

export const passwordChangeSpec: ActionSpec<null> = {
  label: "Change password",
  description: () => "This ends all your other sessions.",
  form: {
    type: "object",
    required: ["current_password", "new_password"],
    properties: {
      current_password: {
        type: "string",
        format: "password",
        minLength: 1,
        "x-ui": { label: "Current password" },
      },
      new_password: {
        type: "string",
        format: "password",
        minLength: 12,
        "x-ui": { label: "New password", help: "At least 12 characters." },
      },
    },
  },
  run: (_, values) =>
    body(
      api.POST("/api/v1/me/password", {
        body: {
          current_password: String(values.current_password),
          new_password: String(values.new_password),
        },
      }),
    ),
  done: "Password changed",
};
