import { Stack } from "@mantine/core";
import { useMemo, useState } from "react";
import { ActionBar } from "../actions/ActionBar";
import { ActionButton } from "../actions/ActionButton";
import { CreateButton } from "../actions/CreateButton";
import { actionsColumn } from "../actions/columns";
import type { Project, ServiceAccount, ServiceAccountKey } from "../api/types";
import { enabledColumn, monoColumn, openColumn, textColumn, timeColumn } from "../parts/columns";
import { KeyValues, Mono } from "../parts/KeyValues";
import { Empty } from "../parts/Loaded";
import { OneTimeSecret, type Secret, shows } from "../parts/OneTimeSecret";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { RowActions } from "../parts/RowActions";
import { SideDrawer } from "../parts/SideDrawer";
import { StateBadge } from "../parts/StateBadge";
import { TablePanel } from "../parts/TablePanel";
import { AccountCertificates } from "./AccountCertificates";
import {
  ACCOUNT_CHANGES,
  accountCreateSpec,
  accountKeyDeleteSpec,
  accountKeySpec,
  accountKeyUpdateSpec,
  changesFor,
} from "./accountActions";
import { certificateCreateSpec } from "./certificateActions";
import { useAccountKeys, useServiceAccounts } from "./queries";
import classes from "./Team.module.css";

export function ServiceAccounts({ project }: { project: Project }) {
  const listing = useServiceAccounts(project.id);
  const [shown, setShown] = useState<string | null>(null);
  const [secret, setSecret] = useState<Secret | null>(null);
  const open = listing.rows.find((one) => one.id === shown);
  const columns = useMemo<Column<ServiceAccount>[]>(
    () => [
      openColumn(
        "name",
        "Name",
        (one) => one.name,
        (one) => setShown(one.id),
        "minmax(9rem, 1.5fr)",
      ),
      textColumn(
        "scopes",
        "Scopes",
        (one) => one.scopes.join(" "),
        "minmax(14rem, 3fr)",
        (one) => <Scopes scopes={one.scopes} />,
      ),
      enabledColumn(),
      timeColumn("expires", "Expires", (one) => one.expires_at, "6.5rem"),
    ],
    [],
  );
  const may = project.allowed_actions.includes("service_account_create");
  return (
    <TablePanel
      title="Service accounts"
      aside={
        may && (
          <CreateButton
            spec={shows(accountCreateSpec, setSecret)}
            resource={project}
            name={project.name}
            size="compact-xs"
          />
        )
      }
      columns={columns}
      listing={listing}
      empty={
        <Empty
          icon="key"
          title="No service accounts"
          text="Programs sign in with a service account. It has scopes instead of roles, and keys that can be rotated."
        />
      }
    >
      {open && <AccountDrawer account={open} onClose={() => setShown(null)} onSecret={setSecret} />}
      {secret && <OneTimeSecret secret={secret} onClose={() => setSecret(null)} />}
    </TablePanel>
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
    monoColumn("id", "Key", (one) => one.id, "minmax(9rem, 2fr)"),
    timeColumn("used", "Used", (one) => one.last_used_at, "6rem"),
    timeColumn("expires", "Expires", (one) => one.expires_at, "6rem"),
    enabledColumn(),
    actionsColumn(
      (one) =>
        (may.has("service_account_key_update") || may.has("service_account_key_delete")) && (
          <RowActions>
            {may.has("service_account_key_update") && (
              <ActionButton
                spec={accountKeyUpdateSpec(account, !one.disabled)}
                resource={one}
                name={one.id}
                size="compact-xs"
              />
            )}
            {may.has("service_account_key_delete") && (
              <ActionButton
                spec={accountKeyDeleteSpec(account)}
                resource={one}
                name={one.id}
                size="compact-xs"
              />
            )}
          </RowActions>
        ),
      "9rem",
    ),
  ];
  return (
    <SideDrawer title={account.name} size="lg" onClose={props.onClose}>
      <Stack gap="lg">
        <KeyValues
          items={[
            ["State", <StateBadge key="state" state={account.disabled ? "disabled" : "active"} />],
            ["Client ID", <Mono key="id" text={account.id} copy="Copy client ID" />],
            ["Created", <RelativeTime key="made" at={account.created_at} />],
            ["Client certificate", account.certificate_required ? "required" : "optional"],
            account.app_slugs.length > 0 && ["Apps", account.app_slugs.join(", ")],
          ]}
        />
        <Scopes scopes={account.scopes} />
        <RowActions>
          {may.has("service_account_key_create") && (
            <ActionButton
              spec={shows(accountKeySpec, props.onSecret)}
              resource={account}
              name={account.name}
            />
          )}
          {may.has("service_account_certificate_create") && (
            <ActionButton
              spec={shows(certificateCreateSpec, props.onSecret)}
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
        </RowActions>
        <ResourceTable
          plain
          label="Keys"
          columns={columns}
          listing={listing}
          rowId={(one) => one.id}
          empty={<Empty icon="key" title="No keys" />}
        />
        <AccountCertificates account={account} />
      </Stack>
    </SideDrawer>
  );
}
