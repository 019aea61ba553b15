import { ActionButton } from "../actions/ActionButton";
import { actionsColumn } from "../actions/columns";
import type { Project, Tenant } from "../api/types";
import { enabledColumn, linkColumn } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import type { Column } from "../parts/ResourceTable";
import { RowActions } from "../parts/RowActions";
import { TablePanel } from "../parts/TablePanel";
import {
  projectCreateSpec,
  projectDisableSpec,
  projectEnableSpec,
  projectQuotaSpec,
  projectRenameSpec,
} from "./actions";
import { slugColumn } from "./columns";
import { QuotaBar } from "./QuotaBar";
import { useTenantProjects } from "./queries";
import { useQuota } from "./quota";

const CHANGES: ReadonlySet<string> = new Set(["project_update", "project_quota_set"]);

const PROJECTS: Column<Project>[] = [
  linkColumn(
    "name",
    "Project",
    (one) => one.name,
    { to: () => "/", project: (one) => one.id },
    "minmax(9rem, 2fr)",
  ),
  slugColumn("minmax(6rem, 1fr)"),
  enabledColumn(),
  { key: "quota", header: "GPUs", width: "minmax(9rem, 1fr)", cell: (one) => <OfProject id={one.id} /> },
  actionsColumn(
    (one) =>
      one.allowed_actions.some((action) => CHANGES.has(action)) && (
        <RowActions>
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
        </RowActions>
      ),
    "17rem",
  ),
];

function OfProject({ id }: { id: string }) {
  const quota = useQuota(id);
  return quota.data ? <QuotaBar quota={quota.data} /> : <span className="dim">–</span>;
}

/** Projects of a tenant, what each holds, and what may be done with them. */
export function TenantProjects({ tenant }: { tenant: Tenant }) {
  const may = tenant.allowed_actions.includes("project_create");
  const listing = useTenantProjects(tenant.id);
  return (
    <TablePanel
      title="Projects"
      aside={
        may && (
          <ActionButton spec={projectCreateSpec} resource={tenant} name={tenant.name} size="compact-xs" />
        )
      }
      columns={PROJECTS}
      listing={listing}
      empty={<Empty icon="box" title="No projects" />}
    />
  );
}
