import { useMemo, useState } from "react";
import { ActionButton } from "../actions/ActionButton";
import { actionsColumn } from "../actions/columns";
import type { App, Entitlement } from "../api/types";
import { appColumn, visibilityColumn } from "../artifacts/appColumns";
import { timeColumn } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { SideDrawer } from "../parts/SideDrawer";
import { slugColumn, tenantColumn } from "../tenants/columns";
import { visibilitySpec } from "./actions";
import { useAllApps, useAppEntitlements } from "./queries";

/** Every app, and who sees it beyond its own tenant. */
export function AllApps({ may }: { may: boolean }) {
  const listing = useAllApps();
  const [shown, setShown] = useState<App | null>(null);
  const columns = useMemo<Column<App>[]>(
    () => [
      appColumn(setShown),
      slugColumn(),
      tenantColumn("Published by", "minmax(9rem, 1fr)"),
      visibilityColumn("7rem"),
      actionsColumn(
        (one) =>
          may && <ActionButton spec={visibilitySpec} resource={one} name={one.slug} size="compact-xs" />,
        "8rem",
      ),
    ],
    [may],
  );
  return (
    <>
      <ResourceTable
        label="Apps of the platform"
        columns={columns}
        listing={listing}
        rowId={(one) => one.id}
        empty={<Empty icon="apps" title="No apps yet" />}
      />
      {shown && <Entitled app={shown} onClose={() => setShown(null)} />}
    </>
  );
}

const ENTITLED: Column<Entitlement>[] = [
  tenantColumn("Tenant", "minmax(10rem, 2fr)"),
  timeColumn("since", "Since", (one) => one.created_at, "6rem"),
];

function Entitled({ app, onClose }: { app: App; onClose: () => void }) {
  const listing = useAppEntitlements(app.id);
  return (
    <SideDrawer title={`Tenants entitled to ${app.display_name}`} size="md" onClose={onClose}>
      <ResourceTable
        plain
        label="Entitled tenants"
        columns={ENTITLED}
        listing={listing}
        rowId={(one) => one.id}
        empty={<Empty icon="tenants" title="None" text="Entitle a tenant on its page." />}
      />
    </SideDrawer>
  );
}
