import { useMemo, useState } from "react";
import { CreateButton } from "../actions/CreateButton";
import { barColumn } from "../actions/columns";
import type { Tenant, User } from "../api/types";
import { enabledColumn, textColumn, timeColumn } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import { OneTimeSecret, type Secret, shows } from "../parts/OneTimeSecret";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { labelOf } from "../parts/states";
import { NAMED } from "./columns";
import { useTenantUsers } from "./queries";
import { offeredFor, userActions, userCreateSpec } from "./userActions";

export function userColumns(show: (secret: Secret | null) => void): Column<User>[] {
  return [
    ...NAMED,
    textColumn("roles", "Roles", rolesOf, "minmax(9rem, 1.5fr)"),
    enabledColumn(),
    timeColumn("seen", "Signed in", (one) => one.last_sign_in_at, "6.5rem"),
    barColumn({ table: userActions(show), name: (one) => one.name, allowed: offeredFor, most: 1 }, "7rem"),
  ];
}

function rolesOf(one: User): string {
  return [...new Set(one.roles.map((each) => labelOf(each.role)))].join(", ");
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
          may && <CreateButton spec={shows(userCreateSpec, setSecret)} resource={tenant} name={tenant.name} />
        }
        empty={<Empty icon="users" title="No users" />}
      />
      {secret && <OneTimeSecret secret={secret} onClose={() => setSecret(null)} />}
    </>
  );
}
