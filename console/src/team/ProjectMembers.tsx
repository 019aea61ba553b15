import { useMemo } from "react";
import { ActionButton } from "../actions/ActionButton";
import type { Member, Project } from "../api/types";
import { Icon } from "../parts/Icon";
import { Empty } from "../parts/Loaded";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { StateBadge } from "../parts/StateBadge";
import { labelOf } from "../parts/states";
import { memberAddSpec, memberChangeSpec, memberRemoveSpec } from "./memberActions";
import { useProjectMembers } from "./queries";
import classes from "./Team.module.css";

export const PERSON: Column<Member>[] = [
  {
    key: "name",
    header: "Name",
    width: "minmax(9rem, 1.5fr)",
    cell: (one) => one.name,
    value: (one) => one.name,
  },
  {
    key: "email",
    header: "E-mail",
    width: "minmax(11rem, 2fr)",
    cell: (one) => <span className="dim">{one.email}</span>,
    value: (one) => one.email,
  },
  { key: "role", header: "Role", width: "9rem", cell: (one) => labelOf(one.role), value: (one) => one.role },
  {
    key: "state",
    header: "State",
    width: "7rem",
    cell: (one) => <StateBadge state={one.disabled ? "disabled" : "active"} />,
    value: (one) => String(one.disabled),
  },
  {
    key: "since",
    header: "Since",
    width: "6rem",
    cell: (one) => <RelativeTime at={one.created_at} />,
    value: (one) => one.created_at,
  },
];

export function ProjectMembers({ project }: { project: Project }) {
  const listing = useProjectMembers(project.id);
  const may = new Set(project.allowed_actions);
  const mayChange = may.has("project_member_set");
  const mayRemove = may.has("project_member_remove");
  const columns = useMemo<Column<Member>[]>(
    () => [
      ...PERSON,
      ...(mayChange || mayRemove
        ? [
            {
              key: "actions",
              header: "Actions",
              width: "13rem",
              cell: (one: Member) => (
                <span className={classes.actions}>
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
                </span>
              ),
            },
          ]
        : []),
    ],
    [project, mayChange, mayRemove],
  );
  return (
    <Panel
      title={`Members of ${project.name}`}
      flush
      aside={
        mayChange && (
          <ActionButton
            spec={memberAddSpec}
            resource={project}
            name={project.name}
            icon={<Icon name="plus" size={14} />}
            size="compact-xs"
          />
        )
      }
    >
      <ResourceTable
        plain
        label="Members of the project"
        columns={columns}
        listing={listing}
        rowId={(one) => one.id}
        empty={<Empty icon="users" title="Nobody but the tenant's administrators" />}
      />
    </Panel>
  );
}
