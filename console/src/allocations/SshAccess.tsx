import { Group, Text } from "@mantine/core";
import { useState } from "react";
import { ActionButton } from "../actions/ActionButton";
import { CreateButton } from "../actions/CreateButton";
import type { Allocation, IssuedSshCertificate, SshGrant } from "../api/types";
import { useProject } from "../app/project";
import { useSession } from "../app/session";
import { monoColumn, textColumn, timeColumn, unsorted } from "../parts/columns";
import { KeyValues, Mono } from "../parts/KeyValues";
import { Empty } from "../parts/Loaded";
import { OneTimeSecret, type Secret, shows } from "../parts/OneTimeSecret";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { Snippet } from "../parts/Snippet";
import { StateBadge } from "../parts/StateBadge";
import { nameOf } from "./actions";
import { useCertificates, useGrants } from "./queries";
import { certificateCreateSpec, certificateRevokeSpec, grantCreateSpec, grantEndSpec } from "./sshActions";

/** The ways in: a certificate for people of the project, a grant for a key of anybody. */
export function SshAccess({ allocation }: { allocation: Allocation }) {
  const project = useProject();
  const may = allocation.allowed_actions.includes("ssh_grant_create");
  const [certificate, setCertificate] = useState<Secret | null>(null);
  return (
    <Panel
      title="SSH"
      aside={
        may && (
          <CreateButton
            spec={grantCreateSpec}
            resource={allocation}
            name={nameOf(allocation)}
            size="compact-xs"
          />
        )
      }
    >
      <div className="stack">
        {allocation.ssh && (
          <KeyValues
            items={[
              [
                "Address",
                <Mono
                  key="address"
                  text={`${allocation.ssh.user}@${allocation.ssh.address}`}
                  copy="Copy address"
                />,
              ],
              ["Port", allocation.ssh.port],
            ]}
          />
        )}
        {allocation.allowed_actions.includes("ssh_certificate_create") && (
          <div>
            <Text size="sm" mb={6}>
              As a member of the project, log in with a certificate that ends by itself; nothing is stored.
            </Text>
            <Snippet
              label="SSH command"
              text={`gpuaas allocations ssh ${nameOf(allocation)} --project ${project.id}`}
            />
            <Group mt="xs">
              <ActionButton
                spec={shows(certificateCreateSpec, setCertificate)}
                resource={allocation}
                name={nameOf(allocation)}
                size="compact-xs"
              />
            </Group>
          </div>
        )}
        {!allocation.ssh && (
          <Text size="sm" c="dimmed">
            SSH works only while the allocation is active.
          </Text>
        )}
        <Grants allocation={allocation} />
        <Certificates allocation={allocation} />
        <Text size="xs" c="dimmed">
          Your own keys are kept under <PageLink to="/credentials">Credentials</PageLink>.
        </Text>
        {certificate && <OneTimeSecret secret={certificate} onClose={() => setCertificate(null)} />}
      </div>
    </Panel>
  );
}

function Grants({ allocation }: { allocation: Allocation }) {
  const listing = useGrants(allocation.project_id, allocation.id);
  const live = { ...listing, rows: listing.rows.filter((grant) => grant.revoked_at === null) };
  const mayEnd = allocation.allowed_actions.includes("ssh_grant_create");
  const columns: Column<SshGrant>[] = [
    textColumn(
      "note",
      "Key",
      (one) => one.note,
      "minmax(8rem, 2fr)",
      (one) => one.note ?? <span className="dim">{one.granted_to}</span>,
    ),
    unsorted(monoColumn("key", "Fingerprint", (one) => one.fingerprint, "minmax(9rem, 2fr)")),
    timeColumn("expires", "Expires", (one) => one.expires_at, "7rem"),
    {
      key: "end",
      header: "End",
      width: "5.5rem",
      cell: (one) =>
        mayEnd && (
          <ActionButton
            spec={grantEndSpec(allocation)}
            resource={one}
            name={one.note ?? one.id}
            size="compact-xs"
          />
        ),
    },
  ];
  return (
    <ResourceTable
      plain
      label="SSH grants"
      columns={columns}
      listing={live}
      rowId={(one) => one.id}
      empty={<Empty icon="key" title="No grants" text="A grant lets a public key log in until it expires." />}
    />
  );
}

function Certificates({ allocation }: { allocation: Allocation }) {
  const { user } = useSession();
  const listing = useCertificates(allocation.project_id, allocation.id);
  if (listing.rows.length === 0) return null;
  const may = allocation.allowed_actions.includes("ssh_certificate_create");
  const columns: Column<IssuedSshCertificate>[] = [
    textColumn(
      "holder",
      "Holder",
      (one) => one.issued_to,
      "minmax(9rem, 2fr)",
      (one) => (one.issued_to === user.id ? "you" : one.issued_to),
    ),
    {
      key: "serial",
      header: "Serial",
      width: "9rem",
      cell: (one) => String(one.serial),
      value: (one) => one.serial,
    },
    textColumn(
      "valid",
      "Valid until",
      (one) => one.valid_before,
      "8rem",
      (one) => (one.revoked_at ? <StateBadge state="revoked" /> : <RelativeTime at={one.valid_before} />),
    ),
  ];
  return (
    <div>
      <ResourceTable
        plain
        label="SSH certificates"
        columns={columns}
        listing={listing}
        rowId={(one) => String(one.serial)}
        empty={null}
        height="14rem"
      />
      {may && (
        <Text mt="xs">
          <ActionButton
            spec={certificateRevokeSpec}
            resource={allocation}
            name={nameOf(allocation)}
            size="compact-xs"
          />
        </Text>
      )}
    </div>
  );
}
