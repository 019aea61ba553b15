import { useMemo } from "react";
import { ActionButton } from "../actions/ActionButton";
import type { Member, Tenant } from "../api/types";
import { Icon } from "../parts/Icon";
import { Empty } from "../parts/Loaded";
import { Panel } from "../parts/Panel";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { tenantAdminAddSpec, tenantAdminRemoveSpec } from "./memberActions";
import { PERSON } from "./ProjectMembers";
import { useTenantMembers } from "./queries";

export function TenantMembers({ tenant }: { tenant: Tenant }) {
  const listing = useTenantMembers(tenant.id);
  const may = new Set(tenant.allowed_actions);
  const mayRemove = may.has("tenant_member_remove");
  const columns = useMemo<Column<Member>[]>(
    () =>
      mayRemove
        ? [
            ...PERSON,
            {
              key: "actions",
              header: "Actions",
              width: "7rem",
              cell: (one) => (
                <ActionButton
                  spec={tenantAdminRemoveSpec(tenant)}
                  resource={one}
                  name={one.name}
                  size="compact-xs"
                />
              ),
            },
          ]
        : PERSON,
    [tenant, mayRemove],
  );
  return (
    <Panel
      title={`Administrators of ${tenant.name}`}
      flush
      aside={
        may.has("tenant_member_set") && (
          <ActionButton
            spec={tenantAdminAddSpec}
            resource={tenant}
            name={tenant.name}
            icon={<Icon name="plus" size={14} />}
            size="compact-xs"
          />
        )
      }
    >
      <ResourceTable
        plain
        label="Administrators of the tenant"
        columns={columns}
        listing={listing}
        rowId={(one) => one.id}
        empty={<Empty icon="users" title="Nobody" />}
      />
    </Panel>
  );
}
