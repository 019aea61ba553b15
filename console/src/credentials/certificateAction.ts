// A certificate through a credential. Keys that the platform keeps are not delivered to a page: the command seals them to
// a key pair that only it has.
import type { ActionSpec } from "../actions/spec";
import { api, body } from "../api/client";
import { invalidateAfter } from "../api/stale";
import type { AccessCredential } from "../api/types";
import type { Schema, Values } from "../forms/schema";
import type { Secret } from "../parts/OneTimeSecret";

/** Where certificates work: from the address of this browser, and from those that the form names. */
export const SOURCE_ADDRESSES: Schema = {
  type: "array",
  maxItems: 8,
  items: { type: "string" },
  "x-ui": {
    label: "Addresses to connect from",
    help: "The certificate works from these and from the address of this browser. Name yours if the host sees another one, such as that of a VPN or a jump host.",
  },
};

export function sourcesOf(values: Values): string[] {
  return ((values.source_addresses as string[] | undefined) ?? []).map((one) => one.trim());
}

export const certificateSpec: ActionSpec<AccessCredential, Secret> = {
  label: "Get a certificate",
  form: {
    type: "object",
    required: ["allocation_id", "public_key"],
    properties: {
      allocation_id: { type: "string", "x-ui": { label: "Allocation", help: "The allocation's ID, alc_…" } },
      public_key: {
        type: "string",
        minLength: 20,
        "x-ui": {
          label: "Public key",
          help: "The public key to certify. Keep the private key.",
          multiline: true,
        },
      },
      minutes: { type: "integer", minimum: 1, maximum: 60, "x-ui": { label: "Valid for (minutes)" } },
      source_addresses: SOURCE_ADDRESSES,
    },
  },
  run: async (one, values) => {
    const answer = await invalidateAfter(
      body(
        api.POST("/api/v1/projects/{project_id}/access-credentials/{credential_id}/deliveries", {
          params: { path: { project_id: one.project_id, credential_id: one.id } },
          body: {
            allocation_id: String(values.allocation_id).trim(),
            public_key: String(values.public_key).trim(),
            minutes: values.minutes ? Number(values.minutes) : null,
            source_addresses: sourcesOf(values),
          },
        }),
      ),
      ["credentials", one.project_id],
    );
    return certificateShown(answer.certificate);
  },
  done: "Certificate issued",
};

interface Certificate {
  certificate: string;
  known_hosts_line: string;
  valid_before: string;
  source_addresses: string[];
}

export function certificateShown(found: Certificate | null): Secret {
  return {
    title: "Certificate",
    description: "Save it beside your private key as <key>-cert.pub. It expires by itself.",
    parts: found
      ? [
          { label: "Certificate", text: found.certificate },
          { label: "Line for known_hosts", text: found.known_hosts_line },
          ...(found.source_addresses.length
            ? [{ label: "Works from", text: found.source_addresses.join(", ") }]
            : []),
        ]
      : [],
  };
}
