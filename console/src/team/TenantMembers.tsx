import { useMemo } from "react";
import { ActionButton } from "../actions/ActionButton";
import { CreateButton } from "../actions/CreateButton";
import { actionsColumn } from "../actions/columns";
import type { Member, Tenant } from "../api/types";
import { Empty } from "../parts/Loaded";
import type { Column } from "../parts/ResourceTable";
import { TablePanel } from "../parts/TablePanel";
import { MEMBER } from "./columns";
import { tenantAdminAddSpec, tenantAdminRemoveSpec } from "./memberActions";
import { useTenantMembers } from "./queries";

export function TenantMembers({ tenant }: { tenant: Tenant }) {
  const listing = useTenantMembers(tenant.id);
  const may = new Set(tenant.allowed_actions);
  const mayRemove = may.has("tenant_member_remove");
  const columns = useMemo<Column<Member>[]>(
    () =>
      mayRemove
        ? [
            ...MEMBER,
            actionsColumn(
              (one) => (
                <ActionButton
                  spec={tenantAdminRemoveSpec(tenant)}
                  resource={one}
                  name={one.name}
                  size="compact-xs"
                />
              ),
              "7rem",
            ),
          ]
        : MEMBER,
    [tenant, mayRemove],
  );
  return (
    <TablePanel
      title={`Administrators of ${tenant.name}`}
      aside={
        may.has("tenant_member_set") && (
          <CreateButton spec={tenantAdminAddSpec} resource={tenant} name={tenant.name} size="compact-xs" />
        )
      }
      label="Administrators of the tenant"
      columns={columns}
      listing={listing}
      empty={<Empty icon="users" title="No administrators" />}
    />
  );
}
