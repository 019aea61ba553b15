import { useMemo, useState } from "react";
import { CreateButton } from "../actions/CreateButton";
import { barColumn } from "../actions/columns";
import type { User } from "../api/types";
import { Empty } from "../parts/Loaded";
import { OneTimeSecret, type Secret, shows } from "../parts/OneTimeSecret";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { userColumns } from "../team/TenantUsers";
import { offeredForPlatformUser, platformUserActions, platformUserSpec } from "./actions";
import { useAllUsers } from "./queries";

/** Users of all tenants, and those of the platform itself, who alone can hold its roles. */
export function AllUsers({ may }: { may: boolean }) {
  const listing = useAllUsers();
  const [secret, setSecret] = useState<Secret | null>(null);
  const columns = useMemo<Column<User>[]>(() => {
    const [actions, ...others] = userColumns(setSecret).reverse();
    const ofTenant = actions as Column<User>;
    const ofPlatform = barColumn<User>(
      { table: platformUserActions, name: (one) => one.name, allowed: offeredForPlatformUser, most: 2 },
      "13rem",
    );
    const cell = (one: User) => (one.tenant_id ? ofTenant : ofPlatform).cell(one);
    const wanted = (one: User) => one.allowed_actions.length > 0;
    return [...others.reverse(), { ...ofTenant, width: "13rem", cell, wanted }];
  }, []);
  return (
    <>
      <ResourceTable
        label="Users of the platform"
        columns={columns}
        listing={listing}
        rowId={(one) => one.id}
        tools={
          may && (
            <CreateButton spec={shows(platformUserSpec, setSecret)} resource={null} name="the platform" />
          )
        }
        empty={<Empty icon="users" title="No users" />}
      />
      {secret && <OneTimeSecret secret={secret} onClose={() => setSecret(null)} />}
    </>
  );
}
