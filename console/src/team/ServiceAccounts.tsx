import { Drawer, Stack } from "@mantine/core";
import { useMemo, useState } from "react";
import { ActionBar } from "../actions/ActionBar";
import { ActionButton } from "../actions/ActionButton";
import type { Project, ServiceAccount, ServiceAccountKey } from "../api/types";
import { Icon } from "../parts/Icon";
import { KeyValues, Mono } from "../parts/KeyValues";
import { Empty } from "../parts/Loaded";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { type Secret, ShownOnce, shows } from "../parts/ShownOnce";
import { StateBadge } from "../parts/StateBadge";
import {
  ACCOUNT_CHANGES,
  accountCreateSpec,
  accountKeyDeleteSpec,
  accountKeySpec,
  changesFor,
} from "./accountActions";
import { useAccountKeys, useServiceAccounts } from "./queries";
import classes from "./Team.module.css";

export function ServiceAccounts({ project }: { project: Project }) {
  const listing = useServiceAccounts(project.id);
  const [shown, setShown] = useState<string | null>(null);
  const [secret, setSecret] = useState<Secret | null>(null);
  const open = listing.rows.find((one) => one.id === shown);
  const columns = useMemo<Column<ServiceAccount>[]>(
    () => [
      {
        key: "name",
        header: "Name",
        width: "minmax(9rem, 1.5fr)",
        cell: (one) => (
          <button type="button" className={classes.open} onClick={() => setShown(one.id)}>
            {one.name}
          </button>
        ),
        value: (one) => one.name,
      },
      {
        key: "scopes",
        header: "Scopes",
        width: "minmax(14rem, 3fr)",
        cell: (one) => <Scopes scopes={one.scopes} />,
        value: (one) => one.scopes.join(" "),
      },
      {
        key: "state",
        header: "State",
        width: "7rem",
        cell: (one) => <StateBadge state={one.disabled ? "disabled" : "active"} />,
        value: (one) => String(one.disabled),
      },
      {
        key: "expires",
        header: "Expires",
        width: "6.5rem",
        cell: (one) => <RelativeTime at={one.expires_at} />,
        value: (one) => one.expires_at,
      },
    ],
    [],
  );
  const may = project.allowed_actions.includes("service_account_create");
  return (
    <Panel
      title="Service accounts"
      flush
      aside={
        may && (
          <ActionButton
            spec={shows(accountCreateSpec, setSecret)}
            resource={project}
            name={project.name}
            icon={<Icon name="plus" size={14} />}
            size="compact-xs"
          />
        )
      }
    >
      <ResourceTable
        plain
        label="Service accounts"
        columns={columns}
        listing={listing}
        rowId={(one) => one.id}
        empty={
          <Empty
            icon="key"
            title="No service accounts"
            text="What programs log in as: with scopes instead of roles, and keys that can be changed."
          />
        }
      />
      {open && <AccountDrawer account={open} onClose={() => setShown(null)} onSecret={setSecret} />}
      {secret && <ShownOnce secret={secret} onClose={() => setSecret(null)} />}
    </Panel>
  );
}

function Scopes({ scopes }: { scopes: string[] }) {
  return (
    <span className={classes.scopes}>
      {scopes.map((scope) => (
        <code key={scope}>{scope}</code>
      ))}
    </span>
  );
}

function AccountDrawer(props: {
  account: ServiceAccount;
  onClose: () => void;
  onSecret: (secret: Secret) => void;
}) {
  const { account } = props;
  const listing = useAccountKeys(account.project_id, account.id);
  const may = new Set(account.allowed_actions);
  const columns: Column<ServiceAccountKey>[] = [
    {
      key: "id",
      header: "Key",
      width: "minmax(9rem, 2fr)",
      cell: (one) => <Mono text={one.id} />,
      value: (one) => one.id,
    },
    {
      key: "used",
      header: "Used",
      width: "6rem",
      cell: (one) => <RelativeTime at={one.last_used_at} />,
      value: (one) => one.last_used_at,
    },
    {
      key: "expires",
      header: "Expires",
      width: "6rem",
      cell: (one) => <RelativeTime at={one.expires_at} />,
      value: (one) => one.expires_at,
    },
    {
      key: "actions",
      header: "Actions",
      width: "6rem",
      cell: (one) =>
        may.has("service_account_key_delete") && (
          <ActionButton spec={accountKeyDeleteSpec(account)} resource={one} name={one.id} size="compact-xs" />
        ),
    },
  ];
  return (
    <Drawer
      opened
      onClose={props.onClose}
      title={account.name}
      position="right"
      size="lg"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack gap="lg">
        <KeyValues
          items={[
            ["State", <StateBadge key="state" state={account.disabled ? "disabled" : "active"} />],
            ["Client id", <Mono key="id" text={account.id} copy="Copy client id" />],
            ["Made", <RelativeTime key="made" at={account.created_at} />],
            account.app_slugs.length > 0 && ["Apps", account.app_slugs.join(", ")],
          ]}
        />
        <Scopes scopes={account.scopes} />
        <span className={classes.actions}>
          {may.has("service_account_key_create") && (
            <ActionButton
              spec={shows(accountKeySpec, props.onSecret)}
              resource={account}
              name={account.name}
            />
          )}
          <ActionBar
            resource={account}
            name={account.name}
            allowed={changesFor(account)}
            table={ACCOUNT_CHANGES}
          />
        </span>
        <ResourceTable
          plain
          label="Keys"
          columns={columns}
          listing={listing}
          rowId={(one) => one.id}
          empty={<Empty icon="key" title="It has no key" />}
        />
      </Stack>
    </Drawer>
  );
}
