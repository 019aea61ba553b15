import { useMemo } from "react";
import { ActionButton } from "../actions/ActionButton";
import { actionsColumn } from "../actions/columns";
import type { components } from "../api/schema";
import {
  countColumn,
  endedColumn,
  labelColumn,
  monoColumn,
  textColumn,
  timeColumn,
  unsorted,
} from "../parts/columns";
import { Empty } from "../parts/Loaded";
import type { Column } from "../parts/ResourceTable";
import { TablePanel } from "../parts/TablePanel";
import {
  platformRetireSpec,
  platformRotateSpec,
  secretRotateSpec,
  signingRevokeSpec,
  signingRotateSpec,
} from "./actions";
import { usePlatformKeys, useSecretKeys, useSigningKeys } from "./queries";

type Schemas = components["schemas"];

const MADE: Column<{ created_at: string }> = timeColumn("at", "Made", (one) => one.created_at, "6rem");

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
      labelColumn("kind", "For", (one) => one.kind, "minmax(8rem, 1fr)"),
      unsorted(
        monoColumn("key", "Public key", (one) => one.public_key, "minmax(12rem, 2fr)", "Copy public key"),
      ),
      textColumn("custody", "Private side under", (one) => one.custody, "9rem"),
      textColumn(
        "unconfirmed",
        "Not confirmed by",
        (one) => (one.unconfirmed?.total ? `${one.unconfirmed.total} nodes` : ""),
        "8rem",
      ),
      endedColumn((one) => one.retired_at, "retired"),
      timeColumn("from", "Signs from", (one) => one.signs_from, "6rem"),
      actionsColumn(
        (one) =>
          may &&
          !one.retired_at && (
            <ActionButton spec={platformRetireSpec} resource={one} name={one.id} size="compact-xs" />
          ),
        "7rem",
      ),
    ],
    [may],
  );
  return (
    <TablePanel
      title="Keys of the platform"
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
      columns={columns}
      listing={listing}
      empty={<Empty icon="key" title="No keys" />}
    />
  );
}

function SigningKeys({ may }: { may: boolean }) {
  const listing = useSigningKeys();
  const columns = useMemo<Column<Schemas["SigningKey"]>[]>(
    () => [
      monoColumn("id", "Key", (one) => one.id, "minmax(10rem, 2fr)"),
      textColumn("custody", "Private side under", (one) => one.custody, "9rem"),
      endedColumn((one) => one.verifies_until, "verifies_only", "8rem"),
      timeColumn("until", "Verifies until", (one) => one.verifies_until, "7.5rem"),
      MADE,
      actionsColumn(
        (one) =>
          may && <ActionButton spec={signingRevokeSpec} resource={one} name={one.id} size="compact-xs" />,
        "7rem",
      ),
    ],
    [may],
  );
  return (
    <TablePanel
      title="Keys that sign access tokens"
      label="Signing keys"
      aside={
        may && (
          <ActionButton spec={signingRotateSpec} resource={null} name="the signing key" size="compact-xs" />
        )
      }
      columns={columns}
      listing={listing}
      empty={<Empty icon="key" title="No keys" />}
    />
  );
}

const SECRET: Column<Schemas["SecretKey"]>[] = [
  countColumn("version", "Version", (one) => one.version),
  textColumn("backend", "Kept by", (one) => one.backend, "minmax(8rem, 1fr)"),
  countColumn("protects", "Protects", (one) => one.protects, "6rem"),
  endedColumn((one) => one.retired_at, "retired", "8rem"),
  MADE,
];

function SecretKeys({ may }: { may: boolean }) {
  const listing = useSecretKeys();
  return (
    <TablePanel
      title="Keys that protect secrets"
      label="Secret keys"
      aside={
        may && (
          <ActionButton spec={secretRotateSpec} resource={null} name="the key of secrets" size="compact-xs" />
        )
      }
      columns={SECRET}
      listing={listing}
      empty={<Empty icon="key" title="No keys" />}
    />
  );
}
