import { useMemo, useState } from "react";
import { ActionBar } from "../actions/ActionBar";
import { ActionButton } from "../actions/ActionButton";
import type { Tenant, User } from "../api/types";
import { Icon } from "../parts/Icon";
import { Empty } from "../parts/Loaded";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { type Secret, ShownOnce, shows } from "../parts/ShownOnce";
import { StateBadge } from "../parts/StateBadge";
import { labelOf } from "../parts/states";
import { useTenantUsers } from "./queries";
import classes from "./Team.module.css";
import { offeredFor, userActions, userCreateSpec } from "./userActions";

export function userColumns(show: (secret: Secret | null) => void): Column<User>[] {
  const table = userActions(show);
  return [
    {
      key: "name",
      header: "Name",
      width: "minmax(9rem, 1.5fr)",
      cell: (one) => one.name,
      value: (one) => one.name,
    },
    {
      key: "email",
      header: "E-mail",
      width: "minmax(11rem, 2fr)",
      cell: (one) => <span className="dim">{one.email}</span>,
      value: (one) => one.email,
    },
    {
      key: "roles",
      header: "Roles",
      width: "minmax(9rem, 1.5fr)",
      cell: (one) => rolesOf(one),
      value: (one) => rolesOf(one),
    },
    {
      key: "state",
      header: "State",
      width: "7rem",
      cell: (one) => <StateBadge state={one.disabled ? "disabled" : "active"} />,
      value: (one) => String(one.disabled),
    },
    {
      key: "seen",
      header: "Signed in",
      width: "6.5rem",
      cell: (one) => <RelativeTime at={one.last_sign_in_at} />,
      value: (one) => one.last_sign_in_at,
    },
    {
      key: "actions",
      header: "Actions",
      width: "7rem",
      cell: (one) => (
        <span className={classes.actions}>
          <ActionBar
            resource={one}
            name={one.name}
            allowed={offeredFor(one)}
            table={table}
            size="compact-xs"
            most={1}
          />
        </span>
      ),
    },
  ];
}

function rolesOf(one: User): string {
  return [...new Set(one.roles.map((held) => labelOf(held.role)))].join(", ");
}

export function TenantUsers({ tenant }: { tenant: Tenant }) {
  const listing = useTenantUsers(tenant.id);
  const [secret, setSecret] = useState<Secret | null>(null);
  const columns = useMemo(() => userColumns(setSecret), []);
  const may = tenant.allowed_actions.includes("tenant_user_create");
  return (
    <>
      <ResourceTable
        label="Users of the tenant"
        columns={columns}
        listing={listing}
        rowId={(one) => one.id}
        tools={
          may && (
            <ActionButton
              spec={shows(userCreateSpec, setSecret)}
              resource={tenant}
              name={tenant.name}
              icon={<Icon name="plus" size={14} />}
            />
          )
        }
        empty={<Empty icon="users" title="No users" />}
      />
      {secret && <ShownOnce secret={secret} onClose={() => setSecret(null)} />}
    </>
  );
}
