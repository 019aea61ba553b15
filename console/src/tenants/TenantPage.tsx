import { useParams } from "@tanstack/react-router";
import { ActionButton } from "../actions/ActionButton";
import type { Entitlement, Project, Tenant } from "../api/types";
import { KeyValues, Mono } from "../parts/KeyValues";
import { Empty, Loaded } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { StateBadge } from "../parts/StateBadge";
import { useTenant } from "../team/queries";
import { TenantMembers } from "../team/TenantMembers";
import { TenantUsers } from "../team/TenantUsers";
import {
  entitlementRevokeSpec,
  entitleSpec,
  projectCreateSpec,
  projectDisableSpec,
  projectEnableSpec,
  projectQuotaSpec,
  projectRenameSpec,
  tenantDisableSpec,
  tenantEnableSpec,
  tenantQuotaSpec,
  tenantRenameSpec,
} from "./actions";
import { QuotaBar } from "./QuotaBar";
import { useEntitlements, useProjectQuota, useTenantProjects, useTenantQuota } from "./queries";
import classes from "./TenantPage.module.css";
import { Trust } from "./Trust";

export function TenantPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const query = useTenant(id);
  return (
    <>
      {!query.data && <PageHead title="Tenant" />}
      <Loaded query={query}>{(tenant) => <Shown tenant={tenant} />}</Loaded>
    </>
  );
}

function Shown({ tenant }: { tenant: Tenant }) {
  const may = new Set(tenant.allowed_actions);
  const quota = useTenantQuota(tenant.id);
  return (
    <>
      <PageHead
        above={<PageLink to="/ops/tenants">Tenants</PageLink>}
        title={tenant.name}
        badges={<StateBadge state={tenant.disabled ? "disabled" : "active"} />}
        actions={
          <>
            {may.has("tenant_update") && (
              <ActionButton spec={tenantRenameSpec} resource={tenant} name={tenant.name} />
            )}
            {may.has("tenant_quota_set") && (
              <ActionButton spec={tenantQuotaSpec} resource={tenant} name={tenant.name} />
            )}
            {may.has("tenant_update") && (
              <ActionButton
                spec={tenant.disabled ? tenantEnableSpec : tenantDisableSpec}
                resource={tenant}
                name={tenant.name}
              />
            )}
          </>
        }
      />
      <div className="stack">
        <Panel title="Tenant">
          <KeyValues
            items={[
              ["Slug", <code key="slug">{tenant.slug}</code>],
              ["Id", <Mono key="id" text={tenant.id} copy="Copy id" />],
              ["Made", <RelativeTime key="made" at={tenant.created_at} />],
              ["GPUs of all projects", quota.data && <QuotaBar key="quota" quota={quota.data} />],
            ]}
          />
        </Panel>
        <Projects tenant={tenant} may={may.has("project_create")} />
        <Entitlements tenant={tenant} may={may} />
        <Trust tenant={tenant} />
        <TenantMembers tenant={tenant} />
        <TenantUsers tenant={tenant} />
      </div>
    </>
  );
}

const PROJECTS: Column<Project>[] = [
  {
    key: "name",
    header: "Project",
    width: "minmax(9rem, 2fr)",
    cell: (one) => (
      <PageLink to="/" search={{ project: one.id }}>
        {one.name}
      </PageLink>
    ),
    value: (one) => one.name,
  },
  {
    key: "slug",
    header: "Slug",
    width: "minmax(6rem, 1fr)",
    cell: (one) => <code>{one.slug}</code>,
    value: (one) => one.slug,
  },
  {
    key: "state",
    header: "State",
    width: "7rem",
    cell: (one) => <StateBadge state={one.disabled ? "disabled" : "active"} />,
    value: (one) => String(one.disabled),
  },
  { key: "quota", header: "GPUs", width: "minmax(9rem, 1fr)", cell: (one) => <OfProject id={one.id} /> },
  {
    key: "actions",
    header: "Actions",
    width: "17rem",
    cell: (one) => (
      <span className={classes.actions}>
        {one.allowed_actions.includes("project_update") && (
          <ActionButton spec={projectRenameSpec} resource={one} name={one.name} size="compact-xs" />
        )}
        {one.allowed_actions.includes("project_quota_set") && (
          <ActionButton spec={projectQuotaSpec} resource={one} name={one.name} size="compact-xs" />
        )}
        {one.allowed_actions.includes("project_update") && (
          <ActionButton
            spec={one.disabled ? projectEnableSpec : projectDisableSpec}
            resource={one}
            name={one.name}
            size="compact-xs"
          />
        )}
      </span>
    ),
  },
];

function OfProject({ id }: { id: string }) {
  const quota = useProjectQuota(id);
  return quota.data ? <QuotaBar quota={quota.data} /> : <span className="dim">–</span>;
}

function Projects({ tenant, may }: { tenant: Tenant; may: boolean }) {
  const listing = useTenantProjects(tenant.id);
  return (
    <Panel
      title="Projects"
      flush
      aside={
        may && (
          <ActionButton spec={projectCreateSpec} resource={tenant} name={tenant.name} size="compact-xs" />
        )
      }
    >
      <ResourceTable
        plain
        label="Projects"
        columns={PROJECTS}
        listing={listing}
        rowId={(one) => one.id}
        empty={<Empty icon="box" title="No projects" />}
      />
    </Panel>
  );
}

function Entitlements({ tenant, may }: { tenant: Tenant; may: Set<string> }) {
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
