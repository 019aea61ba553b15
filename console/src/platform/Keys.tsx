import { useMemo } from "react";
import { ActionButton } from "../actions/ActionButton";
import type { components } from "../api/schema";
import { Mono } from "../parts/KeyValues";
import { Empty } from "../parts/Loaded";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { StateBadge } from "../parts/StateBadge";
import { labelOf } from "../parts/states";
import {
  platformRetireSpec,
  platformRotateSpec,
  secretRotateSpec,
  signingRevokeSpec,
  signingRotateSpec,
} from "./actions";
import { usePlatformKeys, useSecretKeys, useSigningKeys } from "./queries";

type Schemas = components["schemas"];

/** What everything rests on. Private sides are never shown; they can be changed. */
export function Keys({ may }: { may: boolean }) {
  return (
    <div className="stack">
      <PlatformKeys may={may} />
      <SigningKeys may={may} />
      <SecretKeys may={may} />
    </div>
  );
}

function PlatformKeys({ may }: { may: boolean }) {
  const listing = usePlatformKeys();
  const columns = useMemo<Column<Schemas["PlatformKey"]>[]>(
    () => [
      {
        key: "kind",
        header: "For",
        width: "minmax(8rem, 1fr)",
        cell: (one) => labelOf(one.kind),
        value: (one) => one.kind,
      },
      {
        key: "key",
        header: "Public key",
        width: "minmax(12rem, 2fr)",
        cell: (one) => <Mono text={one.public_key} copy="Copy public key" />,
      },
      {
        key: "state",
        header: "State",
        width: "7rem",
        cell: (one) => <StateBadge state={one.retired_at ? "retired" : "active"} />,
        value: (one) => one.retired_at,
      },
      {
        key: "from",
        header: "Signs from",
        width: "6rem",
        cell: (one) => <RelativeTime at={one.signs_from} />,
        value: (one) => one.signs_from,
      },
      {
        key: "actions",
        header: "Actions",
        width: "7rem",
        cell: (one) =>
          may &&
          !one.retired_at &&
          one.kind !== "tls_ca" && (
            <ActionButton spec={platformRetireSpec} resource={one} name={one.id} size="compact-xs" />
          ),
      },
    ],
    [may],
  );
  return (
    <Panel
      title="Keys of the platform"
      flush
      aside={
        may && (
          <ActionButton
            spec={platformRotateSpec}
            resource={null}
            name="a key of the platform"
            size="compact-xs"
          />
        )
      }
    >
      <ResourceTable
        plain
        label="Keys of the platform"
        columns={columns}
        listing={listing}
        rowId={(one) => one.id}
        empty={<Empty icon="key" title="No keys" />}
      />
    </Panel>
  );
}

function SigningKeys({ may }: { may: boolean }) {
  const listing = useSigningKeys();
  const columns = useMemo<Column<Schemas["SigningKey"]>[]>(
    () => [
      {
        key: "id",
        header: "Key",
        width: "minmax(10rem, 2fr)",
        cell: (one) => <Mono text={one.id} />,
        value: (one) => one.id,
      },
      {
        key: "state",
        header: "State",
        width: "8rem",
        cell: (one) => <StateBadge state={one.verifies_until ? "verifies_only" : "active"} />,
        value: (one) => one.verifies_until,
      },
      {
        key: "until",
        header: "Verifies until",
        width: "7.5rem",
        cell: (one) => <RelativeTime at={one.verifies_until} />,
        value: (one) => one.verifies_until,
      },
      {
        key: "at",
        header: "Made",
        width: "6rem",
        cell: (one) => <RelativeTime at={one.created_at} />,
        value: (one) => one.created_at,
      },
      {
        key: "actions",
        header: "Actions",
        width: "7rem",
        cell: (one) =>
          may && <ActionButton spec={signingRevokeSpec} resource={one} name={one.id} size="compact-xs" />,
      },
    ],
    [may],
  );
  return (
    <Panel
      title="Keys that sign access tokens"
      flush
      aside={
        may && (
          <ActionButton spec={signingRotateSpec} resource={null} name="the signing key" size="compact-xs" />
        )
      }
    >
      <ResourceTable
        plain
        label="Signing keys"
        columns={columns}
        listing={listing}
        rowId={(one) => one.id}
        empty={<Empty icon="key" title="No keys" />}
      />
    </Panel>
  );
}

const SECRET: Column<Schemas["SecretKey"]>[] = [
  {
    key: "version",
    header: "Version",
    width: "5rem",
    align: "end",
    cell: (one) => one.version,
    value: (one) => one.version,
  },
  {
    key: "backend",
    header: "Kept by",
    width: "minmax(8rem, 1fr)",
    cell: (one) => one.backend,
    value: (one) => one.backend,
  },
  {
    key: "protects",
    header: "Protects",
    width: "6rem",
    align: "end",
    cell: (one) => one.protects,
    value: (one) => one.protects,
  },
  {
    key: "state",
    header: "State",
    width: "8rem",
    cell: (one) => <StateBadge state={one.retired_at ? "retired" : "active"} />,
    value: (one) => one.retired_at,
  },
  {
    key: "at",
    header: "Made",
    width: "6rem",
    cell: (one) => <RelativeTime at={one.created_at} />,
    value: (one) => one.created_at,
  },
];

function SecretKeys({ may }: { may: boolean }) {
  const listing = useSecretKeys();
  return (
    <Panel
      title="Keys that protect secrets"
      flush
      aside={
        may && (
          <ActionButton spec={secretRotateSpec} resource={null} name="the key of secrets" size="compact-xs" />
        )
      }
    >
      <ResourceTable
        plain
        label="Secret keys"
        columns={SECRET}
        listing={listing}
        rowId={(one) => one.id}
        empty={<Empty icon="key" title="No keys" />}
      />
    </Panel>
  );
}
