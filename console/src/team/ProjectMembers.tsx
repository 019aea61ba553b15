import { useMemo } from "react";
import { ActionButton } from "../actions/ActionButton";
import { CreateButton } from "../actions/CreateButton";
import { actionsColumn } from "../actions/columns";
import type { Member, Project } from "../api/types";
import { Empty } from "../parts/Loaded";
import type { Column } from "../parts/ResourceTable";
import { RowActions } from "../parts/RowActions";
import { TablePanel } from "../parts/TablePanel";
import { MEMBER } from "./columns";
import { memberAddSpec, memberChangeSpec, memberRemoveSpec } from "./memberActions";
import { useProjectMembers } from "./queries";

export function ProjectMembers({ project }: { project: Project }) {
  const listing = useProjectMembers(project.id);
  const may = new Set(project.allowed_actions);
  const mayChange = may.has("project_member_set");
  const mayRemove = may.has("project_member_remove");
  const columns = useMemo<Column<Member>[]>(
    () => [
      ...MEMBER,
      ...(mayChange || mayRemove
        ? [
            actionsColumn<Member>(
              (one) => (
                <RowActions>
                  {mayChange && (
                    <ActionButton
                      spec={memberChangeSpec(project)}
                      resource={one}
                      name={one.name}
                      size="compact-xs"
                    />
                  )}
                  {mayRemove && (
                    <ActionButton
                      spec={memberRemoveSpec(project)}
                      resource={one}
                      name={one.name}
                      size="compact-xs"
                    />
                  )}
                </RowActions>
              ),
              "13rem",
            ),
          ]
        : []),
    ],
    [project, mayChange, mayRemove],
  );
  return (
    <TablePanel
      title={`Members of ${project.name}`}
      aside={
        mayChange && (
          <CreateButton spec={memberAddSpec} resource={project} name={project.name} size="compact-xs" />
        )
      }
      label="Members of the project"
      columns={columns}
      listing={listing}
      empty={<Empty icon="users" title="Only the tenant's administrators" />}
    />
  );
}
