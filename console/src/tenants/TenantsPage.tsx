import { CreateButton } from "../actions/CreateButton";
import { isAdministrator } from "../api/admin";
import type { Tenant } from "../api/types";
import { useSession } from "../app/session";
import { linkColumn, timeColumn } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { tenantCreateSpec } from "./actions";
import { placeStateColumn, slugColumn } from "./columns";
import { DeletionWaits } from "./DeletionWaits";
import { useTenants } from "./queries";

const COLUMNS: Column<Tenant>[] = [
  linkColumn(
    "name",
    "Name",
    (one) => one.name,
    { to: (one) => `/ops/tenants/${one.id}` },
    "minmax(9rem, 2fr)",
  ),
  slugColumn(),
  placeStateColumn("8rem"),
  timeColumn("since", "Created", (one) => one.created_at, "6rem"),
];

export function TenantsPage() {
  const { user } = useSession();
  const listing = useTenants();
  return (
    <>
      <PageHead
        title="Tenants"
        lead="The tenants of the platform with their projects, quotas and apps."
        actions={
          isAdministrator(user) && (
            <CreateButton spec={tenantCreateSpec} resource={null} name="the platform" />
          )
        }
      />
      <div className="stack">
        <DeletionWaits />
        <ResourceTable
          label="Tenants"
          columns={COLUMNS}
          listing={listing}
          rowId={(one) => one.id}
          empty={<Empty icon="tenants" title="No tenants yet" />}
        />
      </div>
    </>
  );
}
