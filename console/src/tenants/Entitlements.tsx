import { ActionButton } from "../actions/ActionButton";
import { actionsColumn } from "../actions/columns";
import type { Entitlement, Tenant } from "../api/types";
import { textColumn, timeColumn } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import type { Column } from "../parts/ResourceTable";
import { TablePanel } from "../parts/TablePanel";
import { entitlementRevokeSpec, entitleSpec } from "./actions";
import { slugColumn } from "./columns";
import { useEntitlements } from "./queries";

/** Apps of others that the tenant may launch although they are not public. */
export function Entitlements({ tenant }: { tenant: Tenant }) {
  const may = new Set(tenant.allowed_actions);
  const listing = useEntitlements(tenant.id);
  const columns: Column<Entitlement>[] = [
    textColumn("app", "App", (one) => one.display_name, "minmax(9rem, 2fr)"),
    slugColumn(),
    timeColumn("since", "Since", (one) => one.created_at, "6rem"),
    actionsColumn(
      (one) =>
        may.has("entitlement_revoke") && (
          <ActionButton spec={entitlementRevokeSpec} resource={one} name={one.slug} size="compact-xs" />
        ),
      "7rem",
    ),
  ];
  return (
    <TablePanel
      title="Entitled apps"
      aside={
        may.has("entitlement_grant") && (
          <ActionButton spec={entitleSpec} resource={tenant} name={tenant.name} size="compact-xs" />
        )
      }
      label="Entitlements"
      columns={columns}
      listing={listing}
      empty={
        <Empty icon="apps" title="None" text="Public apps and the tenant's own apps need no entitlement." />
      }
    />
  );
}
