// Further projects of the tenant that a workload serves: their people find it in their own project.
import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { ActionBar } from "../actions/ActionBar";
import type { ActionFormProps, ActionTable } from "../actions/spec";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { invalidateAfter } from "../api/stale";
import type { Instance, ServedProject } from "../api/types";
import { useProject, useProjects } from "../app/project";
import { Loaded } from "../parts/Loaded";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { wholeListing } from "../parts/wholeListing";

const path = (one: Instance) => ({ project_id: one.project_id, instance_id: one.id });

export function ServedProjects({ instance }: { instance: Instance }) {
  const query = useQuery({
    queryKey: keys.of("instances", instance.project_id, instance.id, "served-projects"),
    queryFn: () =>
      body(
        api.GET("/api/v1/projects/{project_id}/instances/{instance_id}/served-projects", {
          params: { path: path(instance) },
        }),
      ).then((answer) => answer.items),
  });
  const may = instance.allowed_actions.includes("served_project_set");
  // Most workloads serve only their own project; that needs no panel.
  if (!may && (query.data?.length ?? 0) < 2) return null;
  return (
    <Panel
      title="Served projects"
      flush
      aside={
        <ActionBar
          resource={instance}
          name={instance.name}
          allowed={instance.allowed_actions}
          table={SERVE}
        />
      }
    >
      <Loaded query={query}>
        {(found) => (
          <ResourceTable
            plain
            label="Served projects"
            columns={columnsOf(instance)}
            listing={wholeListing({ ...query, data: found })}
            rowId={(one) => one.project_id}
            empty={null}
          />
        )}
      </Loaded>
    </Panel>
  );
}

const SERVE: ActionTable<Instance> = {
  served_project_set: {
    label: "Serve a project",
    description: () =>
      "Users of that project see the workload there, and their usage counts for that project.",
    Extra: OtherProject,
    run: (one, values) =>
      invalidateAfter(
        body(
          api.PUT(
            "/api/v1/projects/{project_id}/instances/{instance_id}/served-projects/{served_project_id}",
            { params: { path: { ...path(one), served_project_id: String(values.project ?? "") } } },
          ),
        ),
        ["instances", one.project_id],
      ),
    done: "Project is served",
  },
};

function OtherProject({ resource, values, onChange }: ActionFormProps<Instance>) {
  const home = useProject();
  const others = (useProjects().data?.items ?? []).filter(
    (one) => one.tenant_id === home.tenant_id && one.id !== resource.project_id,
  );
  return (
    <Select
      label="Project"
      required
      searchable
      placeholder={others.length ? "Choose" : "You have no other project of the tenant"}
      data={others.map((one) => ({ value: one.id, label: one.name }))}
      value={(values.project as string | undefined) ?? null}
      onChange={(project) => onChange({ ...values, project })}
    />
  );
}

function columnsOf(instance: Instance): Column<ServedProject>[] {
  const leave: ActionTable<ServedProject> = {
    served_project_remove: {
      label: "Stop serving",
      danger: true,
      description: () => "Remove members on its allocations first. Its past usage stays.",
      run: (one) =>
        invalidateAfter(
          body(
            api.DELETE(
              "/api/v1/projects/{project_id}/instances/{instance_id}/served-projects/{served_project_id}",
              { params: { path: { ...path(instance), served_project_id: one.project_id } } },
            ),
          ),
          ["instances", instance.project_id],
        ),
      done: "No longer served",
    },
  };
  return [
    { key: "slug", header: "Project", width: "minmax(10rem, 2fr)", cell: (one) => one.slug },
    { key: "home", header: "Home", width: "5rem", cell: (one) => (one.home ? "yes" : "") },
    { key: "since", header: "Since", width: "6rem", cell: (one) => <RelativeTime at={one.since} /> },
    {
      key: "actions",
      header: "Actions",
      quiet: true,
      width: "minmax(9rem, auto)",
      align: "end",
      cell: (one) => (
        <ActionBar
          resource={one}
          name={one.slug}
          allowed={one.home ? [] : instance.allowed_actions}
          table={leave}
        />
      ),
    },
  ];
}
