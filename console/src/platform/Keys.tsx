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

const MADE: Column<{ created_at: string }> = timeColumn("at", "Created", (one) => one.created_at, "6rem");

/** Private keys are never shown; they can be rotated. */
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
      labelColumn("kind", "Purpose", (one) => one.kind, "minmax(7.5rem, 1fr)"),
      unsorted(
        monoColumn("key", "Public key", (one) => one.public_key, "minmax(9rem, 2fr)", "Copy public key"),
      ),
      labelColumn("custody", "Custody", (one) => one.custody, "6rem"),
      textColumn(
        "unconfirmed",
        "Not confirmed by",
        (one) => (one.unconfirmed?.total ? `${one.unconfirmed.total} nodes` : ""),
        "8rem",
      ),
      endedColumn((one) => one.retired_at, "retired", "6rem"),
      timeColumn("from", "Signs from", (one) => one.signs_from, "6rem"),
      actionsColumn(
        (one) =>
          may &&
          !one.retired_at && (
            <ActionButton
              spec={platformRetireSpec(one.kind)}
              resource={one}
              name={one.id}
              size="compact-xs"
            />
          ),
        "5rem",
      ),
    ],
    [may],
  );
  return (
    <TablePanel
      title="Platform keys"
      aside={
        may && (
          <ActionButton spec={platformRotateSpec} resource={null} name="platform key" size="compact-xs" />
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
      labelColumn("custody", "Custody", (one) => one.custody, "7rem"),
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
      title="Access token signing keys"
      label="Signing keys"
      aside={
        may && <ActionButton spec={signingRotateSpec} resource={null} name="signing key" size="compact-xs" />
      }
      columns={columns}
      listing={listing}
      empty={<Empty icon="key" title="No keys" />}
    />
  );
}

const SECRET: Column<Schemas["SecretKey"]>[] = [
  countColumn("version", "Version", (one) => one.version),
  labelColumn("backend", "Custody", (one) => one.backend, "minmax(8rem, 1fr)"),
  countColumn("protects", "Protects", (one) => one.protects, "6rem"),
  endedColumn((one) => one.retired_at, "retired", "8rem"),
  MADE,
];

function SecretKeys({ may }: { may: boolean }) {
  const listing = useSecretKeys();
  return (
    <TablePanel
      title="Secret encryption keys"
      label="Secret keys"
      aside={
        may && <ActionButton spec={secretRotateSpec} resource={null} name="secret key" size="compact-xs" />
      }
      columns={SECRET}
      listing={listing}
      empty={<Empty icon="key" title="No keys" />}
    />
  );
}
