import { ActionButton } from "../actions/ActionButton";
import { useProject } from "../app/project";
import { PageHead } from "../parts/PageHead";
import { StateBadge } from "../parts/StateBadge";
import { DeletionBanner } from "../tenants/DeletionBanner";
import { projectDeleteSpec, projectExport, projectUndeleteSpec } from "../tenants/deletionActions";
import { ExportLink } from "../tenants/ExportLink";
import { Attention } from "./Attention";
import { Figures } from "./Figures";
import { InProgress } from "./InProgress";
import { Running } from "./Running";

export function HomePage() {
  const project = useProject();
  const may = new Set(project.allowed_actions);
  return (
    <>
      <PageHead
        title={project.name}
        badges={project.delete_after && <StateBadge state="deleting" />}
        lead="Attention needed, running workloads and their cost."
        actions={
          <>
            {may.has("project_export") && <ExportLink href={projectExport(project)} slug={project.slug} />}
            {may.has("project_delete") && (
              <ActionButton spec={projectDeleteSpec} resource={project} name={project.name} />
            )}
          </>
        }
      />
      <div className="stack">
        <DeletionBanner noun="project" deleteAfter={project.delete_after}>
          {may.has("project_undelete") && (
            <ActionButton spec={projectUndeleteSpec} resource={project} name={project.name} />
          )}
        </DeletionBanner>
        <Figures project={project.id} />
        <Attention project={project.id} />
        <InProgress project={project.id} />
        <Running project={project.id} />
      </div>
    </>
  );
}
