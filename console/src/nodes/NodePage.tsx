import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { ActionBar } from "../actions/ActionBar";
import { nameOf } from "../allocations/actions";
import type { Allocation, Node, Slot, Task } from "../api/types";
import { useAllocationsOf } from "../blocked/queries";
import { KeyValues, Mono } from "../parts/KeyValues";
import { Empty, Loaded } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { Snippet } from "../parts/Snippet";
import { StateBadge } from "../parts/StateBadge";
import { wholeListing } from "../parts/wholeListing";
import { NODE_ACTIONS, SLOT_ACTIONS } from "./actions";
import classes from "./NodePage.module.css";
import { serviceOf } from "./NodesPage";
import { useNode, useSlots, useTasks } from "./queries";
import { SlotMap } from "./SlotMap";
import { TaskDetail } from "./TaskDetail";

export function NodePage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const query = useNode(id);
  return (
    <>
      {!query.data && <PageHead title="Node" />}
      <Loaded query={query}>{(node) => <Shown node={node} />}</Loaded>
    </>
  );
}

function Shown({ node }: { node: Node }) {
  const slots = useSlots(node.id);
  return (
    <>
      <PageHead
        above={<PageLink to="/ops/nodes">Nodes</PageLink>}
        title={node.name}
        badges={
          <>
            <StateBadge state={node.status} />
            <StateBadge state={serviceOf(node)} />
          </>
        }
        lead={node.maintenance ? `${node.maintenance.reason} (by ${node.maintenance.by})` : node.hostname}
        actions={
          <ActionBar resource={node} name={node.name} allowed={node.allowed_actions} table={NODE_ACTIONS} />
        }
      />
      <div className="stack">
        <Panel title="GPUs by NUMA node and NVLink">
          <Loaded query={slots}>
            {(found) =>
              found.length === 0 ? (
                <Empty icon="cpu" title="The host has reported no GPUs yet" />
              ) : (
                <SlotMap slots={found} />
              )
            }
          </Loaded>
        </Panel>
        <Slots slots={wholeListing(slots)} />
        <div className="columns">
          <Facts node={node} />
          <Holders node={node.id} />
        </div>
        <Tasks node={node.id} />
      </div>
    </>
  );
}

function Facts({ node }: { node: Node }) {
  return (
    <Panel title="Host">
      <div className="stack">
        <KeyValues
          items={[
            ["Hostname", node.hostname],
            ["Address", node.address],
            ["Agent", node.agent_version],
            ["Seen", <RelativeTime key="seen" at={node.last_seen_at} />],
            node.lost_since !== null && ["Silent", <RelativeTime key="lost" at={node.lost_since} />],
            ["Enrolled", <RelativeTime key="enrolled" at={node.created_at} />],
            ["Boot", node.boot_id && <Mono key="boot" text={node.boot_id} />],
            ["Id", <Mono key="id" text={node.id} copy="Copy id" />],
            ...Object.entries(node.labels).map(([key, value]) => [key, value] as [string, string]),
          ]}
        />
        {Object.keys(node.inventory).length > 0 && (
          <Snippet label="Inventory" text={JSON.stringify(node.inventory, null, 2)} wrap />
        )}
      </div>
    </Panel>
  );
}

const SLOTS: Column<Slot>[] = [
  {
    key: "index",
    header: "#",
    width: "3rem",
    align: "end",
    cell: (one) => one.slot_index,
    value: (one) => one.slot_index,
  },
  {
    key: "status",
    header: "Status",
    width: "9rem",
    cell: (one) => <StateBadge state={one.status} />,
    value: (one) => one.status,
  },
  {
    key: "model",
    header: "GPU",
    width: "minmax(10rem, 2fr)",
    cell: (one) => one.gpu_model,
    value: (one) => one.gpu_model,
  },
  {
    key: "pci",
    header: "PCI",
    width: "8rem",
    cell: (one) => <code>{one.pci_address}</code>,
    value: (one) => one.pci_address,
  },
  {
    key: "numa",
    header: "NUMA",
    width: "4.5rem",
    align: "end",
    cell: (one) => one.numa_node ?? "–",
    value: (one) => one.numa_node,
  },
  {
    key: "link",
    header: "NVLink",
    width: "5rem",
    cell: (one) => one.nvlink_group ?? "–",
    value: (one) => one.nvlink_group,
  },
  {
    key: "shape",
    header: "As",
    width: "6rem",
    cell: (one) => one.capacity_shape,
    value: (one) => one.capacity_shape,
  },
  {
    key: "why",
    header: "Why",
    width: "minmax(8rem, 2fr)",
    cell: (one) => (
      <span className="dim">{one.present ? one.status_reason : "gone from the last inventory"}</span>
    ),
    value: (one) => one.status_reason,
  },
  {
    key: "actions",
    header: "Actions",
    width: "6.5rem",
    cell: (one) => (
      <ActionBar
        resource={one}
        name={`GPU ${one.slot_index}`}
        allowed={one.allowed_actions}
        table={SLOT_ACTIONS}
        size="compact-xs"
      />
    ),
  },
];

function Slots({ slots }: { slots: ReturnType<typeof wholeListing<Slot>> }) {
  return (
    <Panel title="Slots" flush>
      <ResourceTable
        plain
        label="Slots of the node"
        columns={SLOTS}
        listing={slots}
        rowId={(one) => one.id}
        empty={<Empty icon="cpu" title="No slots" />}
        height="30rem"
      />
    </Panel>
  );
}

const HOLDERS: Column<Allocation>[] = [
  {
    key: "name",
    header: "Allocation",
    width: "minmax(9rem, 2fr)",
    cell: (one) => (
      <PageLink to={`/allocations/${one.id}`} search={{ project: one.project_id }}>
        {nameOf(one)}
      </PageLink>
    ),
    value: (one) => nameOf(one),
  },
  {
    key: "state",
    header: "State",
    width: "9rem",
    cell: (one) => <StateBadge state={one.state} />,
    value: (one) => one.state,
  },
  {
    key: "gpus",
    header: "GPUs",
    width: "4rem",
    align: "end",
    cell: (one) => one.gpu_count,
    value: (one) => one.gpu_count,
  },
  {
    key: "since",
    header: "Since",
    width: "5.5rem",
    cell: (one) => <RelativeTime at={one.state_since} />,
    value: (one) => one.state_since,
  },
];

function Holders({ node }: { node: string }) {
  const listing = useAllocationsOf({ node_id: node });
  return (
    <Panel title="Allocations" flush>
      <ResourceTable
        plain
        label="Allocations on the node"
        columns={HOLDERS}
        listing={listing}
        rowId={(one) => one.id}
        empty={<Empty icon="cpu" title="Nobody has been here" />}
      />
    </Panel>
  );
}

function Tasks({ node }: { node: string }) {
  const listing = useTasks(node);
  const [shown, setShown] = useState<string | null>(null);
  const columns: Column<Task>[] = [
    {
      key: "kind",
      header: "Task",
      width: "minmax(8rem, 1fr)",
      cell: (one) => (
        <button type="button" className={classes.open} onClick={() => setShown(one.id)}>
          {one.kind}
        </button>
      ),
      value: (one) => one.kind,
    },
    {
      key: "status",
      header: "Status",
      width: "8rem",
      cell: (one) => <StateBadge state={one.status} />,
      value: (one) => one.status,
    },
    {
      key: "about",
      header: "About",
      width: "minmax(10rem, 2fr)",
      cell: (one) => <Mono text={one.resource_id} />,
      value: (one) => one.resource_id,
    },
    {
      key: "why",
      header: "What it said",
      width: "minmax(10rem, 2fr)",
      cell: (one) => <span className="dim">{String(one.failure?.message ?? "")}</span>,
    },
    {
      key: "at",
      header: "When",
      width: "5.5rem",
      cell: (one) => <RelativeTime at={one.created_at} />,
      value: (one) => one.created_at,
    },
  ];
  return (
    <Panel title="Tasks of the host" flush>
      <ResourceTable
        plain
        label="Tasks"
        columns={columns}
        listing={listing}
        rowId={(one) => one.id}
        empty={<Empty icon="nodes" title="It was told nothing yet" />}
      />
      {shown && <TaskDetail id={shown} onClose={() => setShown(null)} />}
    </Panel>
  );
}
