import { useMemo, useState } from "react";
import { ActionButton } from "../actions/ActionButton";
import type { User } from "../api/types";
import { Icon } from "../parts/Icon";
import { Empty } from "../parts/Loaded";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { type Secret, ShownOnce, shows } from "../parts/ShownOnce";
import { userColumns } from "../team/TenantUsers";
import { platformUserSpec, platformUserUpdateSpec, roleSpec } from "./actions";
import classes from "./Platform.module.css";
import { useAllUsers } from "./queries";

/** Users of all tenants, and those of the platform itself, who alone can hold its roles. */
export function AllUsers({ may }: { may: boolean }) {
  const listing = useAllUsers();
  const [secret, setSecret] = useState<Secret | null>(null);
  const columns = useMemo<Column<User>[]>(() => {
    const [actions, ...others] = userColumns(setSecret).reverse();
    const ofTenant = actions as Column<User>;
    const cell = (one: User) =>
      one.tenant_id ? (
        ofTenant.cell(one)
      ) : (
        <span className={classes.actions}>
          {one.allowed_actions.includes("platform_role_set") && (
            <ActionButton spec={roleSpec} resource={one} name={one.name} size="compact-xs" />
          )}
          {one.allowed_actions.includes("user_update") && (
            <ActionButton
              spec={platformUserUpdateSpec(!one.disabled)}
              resource={one}
              name={one.name}
              size="compact-xs"
            />
          )}
        </span>
      );
    return [...others.reverse(), { ...ofTenant, width: "13rem", cell }];
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
            <ActionButton
              spec={shows(platformUserSpec, setSecret)}
              resource={null}
              name="the platform"
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
