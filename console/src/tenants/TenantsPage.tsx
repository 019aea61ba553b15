import { ActionButton } from "../actions/ActionButton";
import { isAdministrator } from "../api/admin";
import type { Tenant } from "../api/types";
import { useSession } from "../app/session";
import { Icon } from "../parts/Icon";
import { Empty } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { PageLink } from "../parts/PageLink";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { StateBadge } from "../parts/StateBadge";
import { tenantCreateSpec } from "./actions";
import { useTenants } from "./queries";

const COLUMNS: Column<Tenant>[] = [
  {
    key: "name",
    header: "Name",
    width: "minmax(9rem, 2fr)",
    cell: (one) => <PageLink to={`/ops/tenants/${one.id}`}>{one.name}</PageLink>,
    value: (one) => one.name,
  },
  {
    key: "slug",
    header: "Slug",
    width: "minmax(7rem, 1fr)",
    cell: (one) => <code>{one.slug}</code>,
    value: (one) => one.slug,
  },
  {
    key: "state",
    header: "State",
    width: "8rem",
    cell: (one) => <StateBadge state={one.disabled ? "disabled" : "active"} />,
    value: (one) => String(one.disabled),
  },
  {
    key: "since",
    header: "Made",
    width: "6rem",
    cell: (one) => <RelativeTime at={one.created_at} />,
    value: (one) => one.created_at,
  },
];

export function TenantsPage() {
  const { user } = useSession();
  const listing = useTenants();
  return (
    <>
      <PageHead
        title="Tenants"
        lead="Who uses the platform: their projects, quotas and apps."
        actions={
          isAdministrator(user) && (
            <ActionButton
              spec={tenantCreateSpec}
              resource={null}
              name="the platform"
              icon={<Icon name="plus" size={14} />}
            />
          )
        }
      />
      <ResourceTable
        label="Tenants"
        columns={COLUMNS}
        listing={listing}
        rowId={(one) => one.id}
        empty={<Empty icon="tenants" title="No tenants yet" />}
      />
    </>
  );
}
