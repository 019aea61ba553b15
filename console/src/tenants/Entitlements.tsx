import { ActionButton } from "../actions/ActionButton";
import type { Entitlement, Tenant } from "../api/types";
import { Empty } from "../parts/Loaded";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { entitlementRevokeSpec, entitleSpec } from "./actions";
import { useEntitlements } from "./queries";

/** Apps of others that the tenant may launch although they are not public. */
export function Entitlements({ tenant }: { tenant: Tenant }) {
  const may = new Set(tenant.allowed_actions);
  const listing = useEntitlements(tenant.id);
  const columns: Column<Entitlement>[] = [
    {
      key: "app",
      header: "App",
      width: "minmax(9rem, 2fr)",
      cell: (one) => one.display_name,
      value: (one) => one.display_name,
    },
    {
      key: "slug",
      header: "Slug",
      width: "minmax(7rem, 1fr)",
      cell: (one) => <code>{one.slug}</code>,
      value: (one) => one.slug,
    },
    {
      key: "since",
      header: "Since",
      width: "6rem",
      cell: (one) => <RelativeTime at={one.created_at} />,
      value: (one) => one.created_at,
    },
    {
      key: "actions",
      header: "Actions",
      width: "7rem",
      cell: (one) =>
        may.has("entitlement_revoke") && (
          <ActionButton spec={entitlementRevokeSpec} resource={one} name={one.slug} size="compact-xs" />
        ),
    },
  ];
  return (
    <Panel
      title="Apps that it is entitled to"
      flush
      aside={
        may.has("entitlement_grant") && (
          <ActionButton spec={entitleSpec} resource={tenant} name={tenant.name} size="compact-xs" />
        )
      }
    >
      <ResourceTable
        plain
        label="Entitlements"
        columns={columns}
        listing={listing}
        rowId={(one) => one.id}
        empty={<Empty icon="apps" title="None" text="Public apps, and its own, need no entitlement." />}
      />
    </Panel>
  );
}
