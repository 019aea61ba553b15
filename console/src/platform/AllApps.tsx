import { Drawer } from "@mantine/core";
import { useMemo, useState } from "react";
import { ActionButton } from "../actions/ActionButton";
import type { App, Entitlement } from "../api/types";
import { Empty } from "../parts/Loaded";
import { PageLink } from "../parts/PageLink";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { visibilitySpec } from "./actions";
import classes from "./Platform.module.css";
import { useAllApps, useAppEntitlements } from "./queries";

/** Every app, and who sees it beyond its own tenant. */
export function AllApps({ may }: { may: boolean }) {
  const listing = useAllApps();
  const [shown, setShown] = useState<App | null>(null);
  const columns = useMemo<Column<App>[]>(
    () => [
      {
        key: "name",
        header: "App",
        width: "minmax(9rem, 2fr)",
        cell: (one) => (
          <button type="button" className={classes.open} onClick={() => setShown(one)}>
            {one.display_name}
          </button>
        ),
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
        key: "tenant",
        header: "Of",
        width: "minmax(9rem, 1fr)",
        cell: (one) => <PageLink to={`/ops/tenants/${one.tenant_id}`}>{one.tenant_id}</PageLink>,
        value: (one) => one.tenant_id,
      },
      {
        key: "seen",
        header: "Seen by",
        width: "7rem",
        cell: (one) => one.visibility,
        value: (one) => one.visibility,
      },
      {
        key: "actions",
        header: "Actions",
        width: "8rem",
        cell: (one) =>
          may && <ActionButton spec={visibilitySpec} resource={one} name={one.slug} size="compact-xs" />,
      },
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
  {
    key: "tenant",
    header: "Tenant",
    width: "minmax(10rem, 2fr)",
    cell: (one) => <PageLink to={`/ops/tenants/${one.tenant_id}`}>{one.tenant_id}</PageLink>,
    value: (one) => one.tenant_id,
  },
  {
    key: "since",
    header: "Since",
    width: "6rem",
    cell: (one) => <RelativeTime at={one.created_at} />,
    value: (one) => one.created_at,
  },
];

function Entitled({ app, onClose }: { app: App; onClose: () => void }) {
  const listing = useAppEntitlements(app.id);
  return (
    <Drawer
      opened
      onClose={onClose}
      title={`Tenants entitled to ${app.display_name}`}
      position="right"
      size="md"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <ResourceTable
        plain
        label="Entitled tenants"
        columns={ENTITLED}
        listing={listing}
        rowId={(one) => one.id}
        empty={<Empty icon="tenants" title="None" text="Entitle a tenant on its page." />}
      />
    </Drawer>
  );
}
