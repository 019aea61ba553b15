// The forms of SSH grants and of revoking certificates.
import { SegmentedControl, Select, Stack, Textarea, TextInput } from "@mantine/core";
import { type ActionFormProps, type ActionSpec, REASON_FORM } from "../actions/spec";
import { api, body } from "../api/client";
import { useRest } from "../api/pages";
import { invalidateAfter } from "../api/stale";
import type { Allocation, SshGrant } from "../api/types";
import { certificateShown, SOURCE_ADDRESSES, sourcesOf } from "../credentials/certificateAction";
import { useCredentials, useSshKeys } from "../credentials/queries";
import type { Values } from "../forms/schema";
import type { Secret } from "../parts/OneTimeSecret";

const HOUR = 3_600_000;
const LASTS = {
  "1 hour": HOUR,
  "8 hours": 8 * HOUR,
  "1 day": 24 * HOUR,
  "7 days": 168 * HOUR,
  "30 days": 720 * HOUR,
};

function at(one: Allocation) {
  return { path: { project_id: one.project_id, allocation_id: one.id } };
}

/** A key of three kinds: typed, one's own, or one that the platform keeps for a program. */
function GrantForm({ resource, values, onChange }: ActionFormProps<Allocation>) {
  const own = useSshKeys();
  const kept = useCredentials(resource.project_id);
  useRest(kept);
  const from = String(values.from ?? "key");
  const set = (part: object) => onChange({ lasts: "8 hours", from, ...values, ...part });
  return (
    <Stack gap="md">
      <SegmentedControl
        aria-label="Key source"
        value={from}
        onChange={(next) => set({ from: next })}
        data={[
          { value: "key", label: "A public key" },
          { value: "own", label: "My stored key" },
          { value: "kept", label: "A credential" },
        ]}
      />
      {from === "key" && (
        <Textarea
          label="Public key"
          description="One line, as in id_ed25519.pub."
          required
          autosize
          minRows={2}
          value={String(values.public_key ?? "")}
          onChange={(event) => set({ public_key: event.currentTarget.value })}
        />
      )}
      {from === "own" && (
        <Select
          label="Stored key"
          required
          data={(own.data ?? []).map((one) => ({ value: one.id, label: one.name }))}
          value={(values.ssh_key_id as string) ?? null}
          onChange={(next) => set({ ssh_key_id: next })}
          nothingFoundMessage="You have no stored key"
        />
      )}
      {from === "kept" && (
        <Select
          label="Credential"
          required
          data={kept.rows
            .filter((one) => one.kind === "ssh_key" && !one.revoked_at)
            .map((one) => ({ value: one.id, label: one.name }))}
          value={(values.access_credential_id as string) ?? null}
          onChange={(next) => set({ access_credential_id: next })}
          nothingFoundMessage="The project has no SSH key credential"
        />
      )}
      <Select
        label="Duration"
        data={Object.keys(LASTS)}
        allowDeselect={false}
        value={String(values.lasts ?? "8 hours")}
        onChange={(next) => set({ lasts: next })}
      />
      <TextInput
        label="Note"
        description="Whose key it is, or what it is for."
        value={String(values.note ?? "")}
        onChange={(event) => set({ note: event.currentTarget.value })}
      />
    </Stack>
  );
}

function keyOf(values: Values) {
  if (values.from === "own") return { ssh_key_id: String(values.ssh_key_id ?? "") };
  if (values.from === "kept") return { access_credential_id: String(values.access_credential_id ?? "") };
  return { public_key: String(values.public_key ?? "").trim() };
}

export const grantCreateSpec: ActionSpec<Allocation> = {
  label: "Grant access",
  Extra: GrantForm,
  description: () => "The host accepts the key within seconds and refuses it after it expires.",
  run: (one, values) => {
    const lasts = LASTS[String(values.lasts ?? "8 hours") as keyof typeof LASTS];
    const expires_at = new Date(Date.now() + lasts).toISOString();
    const note = values.note ? String(values.note) : null;
    return invalidateAfter(
      body(
        api.POST("/api/v1/projects/{project_id}/allocations/{allocation_id}/ssh-grants", {
          params: at(one),
          body: { expires_at, note, ...keyOf(values) },
        }),
      ),
      ["allocations", one.project_id],
    );
  },
  done: "Granted",
};

export const certificateRevokeSpec: ActionSpec<Allocation> = {
  label: "Revoke certificates",
  danger: true,
  description: () => "Revokes your own certificates, or as an administrator everybody's. Open sessions end.",
  form: REASON_FORM,
  run: (one, values) =>
    invalidateAfter(
      body(
        api.POST("/api/v1/projects/{project_id}/allocations/{allocation_id}/ssh-certificates/revoke", {
          params: at(one),
          body: { reason: String(values.reason) },
        }),
      ),
      ["allocations", one.project_id],
    ),
  done: "Revoked",
};

export const certificateCreateSpec: ActionSpec<Allocation, Secret> = {
  label: "Get a certificate",
  form: {
    type: "object",
    required: ["public_key"],
    properties: {
      public_key: {
        type: "string",
        minLength: 20,
        "x-ui": {
          label: "Public key",
          help: "The public half of the key that will log in. Keep the private key.",
          multiline: true,
        },
      },
      minutes: { type: "integer", minimum: 1, maximum: 60, default: 15 },
      source_addresses: SOURCE_ADDRESSES,
    },
  },
  run: async (one, values) =>
    certificateShown(
      await invalidateAfter(
        body(
          api.POST("/api/v1/projects/{project_id}/allocations/{allocation_id}/ssh-certificates", {
            params: at(one),
            body: {
              public_key: String(values.public_key).trim(),
              minutes: values.minutes ? Number(values.minutes) : null,
              source_addresses: sourcesOf(values),
            },
          }),
        ),
        ["allocations", one.project_id],
      ),
    ),
  done: "Certificate issued",
};

export const grantEndSpec = (allocation: Allocation): ActionSpec<SshGrant> => ({
  label: "End",
  danger: true,
  description: () => "The host refuses the key within seconds. Open sessions end.",
  run: (one) =>
    invalidateAfter(
      body(
        api.DELETE("/api/v1/projects/{project_id}/allocations/{allocation_id}/ssh-grants/{grant_id}", {
          params: { path: { ...at(allocation).path, grant_id: one.id } },
        }),
      ),
      ["allocations", allocation.project_id],
    ),
  done: "Grant ended",
});
