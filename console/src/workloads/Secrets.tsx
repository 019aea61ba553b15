// The secrets of a workload: names, versions and times. Values go in and are never shown.
import { useQuery } from "@tanstack/react-query";
import { ActionBar } from "../actions/ActionBar";
import { type ActionTable, REASON } from "../actions/spec";
import { api, body } from "../api/client";
import { keys } from "../api/keys";
import { invalidateAfter } from "../api/stale";
import type { Instance, InstanceSecret } from "../api/types";
import { Loaded } from "../parts/Loaded";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { wholeListing } from "../parts/wholeListing";
import { followOperation } from "./actions";

export function Secrets({ instance }: { instance: Instance }) {
  const query = useQuery({
    queryKey: keys.of("instances", instance.project_id, instance.id, "secrets"),
    queryFn: () =>
      body(
        api.GET("/api/v1/projects/{project_id}/instances/{instance_id}/secrets", {
          params: { path: { project_id: instance.project_id, instance_id: instance.id } },
        }),
      ).then((answer) => answer.items),
  });
  // Most apps declare none; that needs no panel.
  if (!query.data?.length) return null;
  return (
    <Panel title="Secrets" flush>
      <Loaded query={query}>
        {(found) => (
          <ResourceTable
            plain
            label="Secrets"
            columns={columnsOf(instance)}
            listing={wholeListing({ ...query, data: found })}
            rowId={(one) => one.name}
            empty={null}
          />
        )}
      </Loaded>
    </Panel>
  );
}

function actionsOf(instance: Instance): ActionTable<InstanceSecret> {
  const path = (one: InstanceSecret) => ({
    params: {
      path: { project_id: instance.project_id, instance_id: instance.id, secret_name: one.name },
    },
  });
  const after = <T,>(answer: Promise<T>) => invalidateAfter(answer, ["instances", instance.project_id]);
  return {
    instance_secret_set: {
      label: "Set",
      description: () => "The value is sealed at once and never shown. A reconcile brings it to the members.",
      form: {
        type: "object",
        required: ["value"],
        properties: { value: { type: "string", format: "password", "x-ui": { label: "Value" } } },
      },
      follow: followOperation,
      done: "Set",
      run: (one, values) =>
        after(
          body(
            api.PUT("/api/v1/projects/{project_id}/instances/{instance_id}/secrets/{secret_name}", {
              ...path(one),
              body: { value: String(values.value ?? ""), encoding: "text" },
            }),
          ),
        ),
    },
    instance_secret_rotate: {
      label: "Rotate",
      description: () => "A reconcile makes another value and brings it to the members.",
      form: { type: "object", properties: { reason: REASON } },
      follow: followOperation,
      done: "Rotation requested",
      run: (one, values) =>
        after(
          body(
            api.POST("/api/v1/projects/{project_id}/instances/{instance_id}/secrets/{secret_name}/rotate", {
              ...path(one),
              body: values as { reason?: string },
            }),
          ),
        ),
    },
  };
}

function columnsOf(instance: Instance): Column<InstanceSecret>[] {
  const table = actionsOf(instance);
  return [
    { key: "name", header: "Secret", width: "minmax(10rem, 2fr)", cell: (one) => one.display_name },
    { key: "source", header: "Source", width: "7rem", cell: (one) => one.source },
    { key: "version", header: "Version", width: "5rem", cell: (one) => one.version ?? "none" },
    { key: "set", header: "Changed", width: "6rem", cell: (one) => <RelativeTime at={one.set_at} /> },
    { key: "state", header: "State", width: "minmax(8rem, 2fr)", cell: stateOf },
    {
      key: "actions",
      header: "Actions",
      quiet: true,
      width: "minmax(7rem, auto)",
      align: "end",
      cell: (one) => <ActionBar resource={one} name={one.name} allowed={one.allowed_actions} table={table} />,
    },
  ];
}

function stateOf(one: InstanceSecret): string {
  if (one.exposed) return "Somebody who left knows it: set another value";
  return one.rotation_due ? "Members get it when the operation in progress has ended" : "";
}
