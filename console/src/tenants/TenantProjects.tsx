import { ActionButton } from "../actions/ActionButton";
import type { Project, Tenant } from "../api/types";
import { Empty } from "../parts/Loaded";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { StateBadge } from "../parts/StateBadge";
import {
  projectCreateSpec,
  projectDisableSpec,
  projectEnableSpec,
  projectQuotaSpec,
  projectRenameSpec,
} from "./actions";
import { QuotaBar } from "./QuotaBar";
import { useProjectQuota, useTenantProjects } from "./queries";
import classes from "./TenantPage.module.css";

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

/** Projects of a tenant, what each holds, and what may be done with them. */
export function TenantProjects({ tenant }: { tenant: Tenant }) {
  const may = tenant.allowed_actions.includes("project_create");
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
