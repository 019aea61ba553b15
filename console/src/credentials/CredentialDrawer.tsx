import { Stack, Text } from "@mantine/core";
import { useState } from "react";
import { ActionButton } from "../actions/ActionButton";
import type { AccessCredential, CredentialDelivery } from "../api/types";
import { useProject } from "../app/project";
import { countColumn, monoColumn, timeColumn, unsorted } from "../parts/columns";
import { KeyValues, Mono } from "../parts/KeyValues";
import { Empty } from "../parts/Loaded";
import { OneTimeSecret, type Secret, shows } from "../parts/OneTimeSecret";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { SideDrawer } from "../parts/SideDrawer";
import { Snippet } from "../parts/Snippet";
import { StateBadge } from "../parts/StateBadge";
import { certificateSpec } from "./certificateAction";
import { useDeliveries } from "./queries";

const COLUMNS: Column<CredentialDelivery>[] = [
  timeColumn("when", "When", (one) => one.delivered_at, "6rem"),
  monoColumn("to", "To", (one) => one.delivered_to, "minmax(9rem, 1fr)"),
  unsorted(monoColumn("for", "Recipient key", (one) => one.recipient_fingerprint, "minmax(9rem, 1fr)")),
  countColumn("version", "Version", (one) => one.version, "4.5rem"),
];

/** One credential: what it is, how a program gets it, and who got it until now. */
export function CredentialDrawer({
  credential,
  onClose,
}: {
  credential: AccessCredential;
  onClose: () => void;
}) {
  const project = useProject();
  const listing = useDeliveries(credential.project_id, credential.id);
  const [secret, setSecret] = useState<Secret | null>(null);
  const name = credential.name.includes(" ") ? credential.id : credential.name;
  const command =
    credential.kind === "ssh_key"
      ? `gpuaas credentials get-key ${name} --to ${name}.key --project ${project.id}`
      : `gpuaas credentials get-certificate ${name} ALLOCATION --key-file ~/.ssh/id_ed25519.pub --project ${project.id}`;
  return (
    <SideDrawer title={credential.name} size="lg" onClose={onClose}>
      <Stack gap="lg">
        <KeyValues
          items={[
            ["State", <StateBadge key="state" state={credential.revoked_at ? "revoked" : "active"} />],
            ["ID", <Mono key="id" text={credential.id} copy="Copy ID" />],
            credential.fingerprint !== null && [
              "Fingerprint",
              <Mono key="print" text={credential.fingerprint} copy="Copy fingerprint" />,
            ],
            ["Created", <RelativeTime key="made" at={credential.created_at} />],
          ]}
        />
        {credential.public_key && <Snippet label="Public key" text={credential.public_key} wrap />}
        {!credential.revoked_at && (
          <div>
            <Text size="sm" mb={6}>
              {credential.kind === "ssh_key"
                ? "The private key is delivered sealed to a temporary key pair, which the command creates and discards:"
                : "A certificate is valid for minutes and for one allocation:"}
            </Text>
            <Snippet label="Command" text={command} />
          </div>
        )}
        {credential.allowed_actions.includes("access_credential_deliver") &&
          credential.kind === "ssh_certificate" && (
            <ActionButton
              spec={shows(certificateSpec, (answer) => setSecret(answer))}
              resource={credential}
              name={credential.name}
            />
          )}
        <div>
          <Text size="sm" fw={600} mb="xs">
            Delivery log
          </Text>
          <ResourceTable
            plain
            label="Deliveries"
            columns={COLUMNS}
            listing={listing}
            rowId={(one) => one.id}
            empty={<Empty icon="key" title="No deliveries yet" />}
          />
        </div>
      </Stack>
      {secret && <OneTimeSecret secret={secret} onClose={() => setSecret(null)} />}
    </SideDrawer>
  );
}
