import { Select } from "@mantine/core";
import { useMemo, useState } from "react";
import { ActionButton } from "../actions/ActionButton";
import { isAdministrator } from "../api/admin";
import type { EnrolmentToken, Node } from "../api/types";
import { useSession } from "../app/session";
import { Icon } from "../parts/Icon";
import { Empty, Loaded } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { type Secret, ShownOnce, shows } from "../parts/ShownOnce";
import { StateBadge } from "../parts/StateBadge";
import { labelOf } from "../parts/states";
import { Tabbed } from "../parts/Tabbed";
import { tokenCreateSpec, tokenRevokeSpec } from "./actions";
import { FleetMap, Legend } from "./FleetMap";
import { FleetPlot } from "./FleetPlot";
import { useEnrolmentTokens, useNodes, useSlotMap } from "./queries";
import { useFleetLive } from "./useFleetLive";

export function NodesPage() {
  const { user } = useSession();
  const [secret, setSecret] = useState<Secret | null>(null);
  useFleetLive();
  return (
    <>
      <PageHead
        title="Nodes"
        lead="The hosts of the platform, and what each of their GPUs does."
        actions={
          isAdministrator(user) && (
            <ActionButton
              spec={shows(tokenCreateSpec, setSecret)}
              resource={null}
              name="new hosts"
              icon={<Icon name="plus" size={14} />}
            />
          )
        }
      />
      <Tabbed
        label="Views of the fleet"
        tabs={[
          { key: "map", label: "Map", content: () => <Fleet /> },
          { key: "inventory", label: "Inventory", content: () => <Inventory /> },
          { key: "enrolment", label: "Enrolment", content: () => <Tokens may={isAdministrator(user)} /> },
        ]}
      />
      {secret && <ShownOnce secret={secret} onClose={() => setSecret(null)} />}
    </>
  );
}

function Fleet() {
  const map = useSlotMap();
  return (
    <Loaded query={map}>
      {(nodes) =>
        nodes.length === 0 ? (
          <Empty
            icon="nodes"
            title="No hosts yet"
            text="Make a bundle for new hosts, and start their agents with it."
          />
        ) : (
          <div className="stack">
            <Panel title="GPUs by node and slot" aside={`${nodes.length} nodes`}>
              <div className="stack">
                <Legend nodes={nodes} />
                <FleetMap nodes={nodes} />
              </div>
            </Panel>
            <FleetPlot />
          </div>
        )
      }
    </Loaded>
  );
}

const STATUSES: Node["status"][] = ["enrolled", "ready", "lost", "retired"];

const COLUMNS: Column<Node>[] = [
  {
    key: "name",
    header: "Name",
    width: "minmax(9rem, 2fr)",
    cell: (one) => <PageLink to={`/ops/nodes/${one.id}`}>{one.name}</PageLink>,
    value: (one) => `${one.name} ${one.hostname}`,
  },
  {
    key: "status",
    header: "Status",
    width: "7rem",
    cell: (one) => <StateBadge state={one.status} />,
    value: (one) => one.status,
  },
  {
    key: "service",
    header: "Service",
    width: "8rem",
    cell: (one) => <StateBadge state={serviceOf(one)} />,
    value: serviceOf,
  },
  {
    key: "gpus",
    header: "GPUs",
    width: "4.5rem",
    align: "end",
    cell: (one) => one.slots.total,
    value: (one) => one.slots.total,
  },
  {
    key: "claimed",
    header: "Claimed",
    width: "5rem",
    align: "end",
    cell: (one) => one.slots.claimed,
    value: (one) => one.slots.claimed,
  },
  {
    key: "waiting",
    header: "To approve",
    width: "6rem",
    align: "end",
    cell: (one) => one.slots.discovered || "",
    value: (one) => one.slots.discovered,
  },
  {
    key: "blocked",
    header: "Blocked",
    width: "5rem",
    align: "end",
    cell: (one) => one.slots.cleanup_blocked || "",
    value: (one) => one.slots.cleanup_blocked,
  },
  {
    key: "agent",
    header: "Agent",
    width: "6rem",
    cell: (one) => <span className="dim">{one.agent_version}</span>,
    value: (one) => one.agent_version,
  },
  {
    key: "seen",
    header: "Seen",
    width: "5.5rem",
    cell: (one) => <RelativeTime at={one.last_seen_at} />,
    value: (one) => one.last_seen_at,
  },
];

export function serviceOf(one: Node): string {
  if (one.draining) return one.drained ? "drained" : "draining";
  if (one.cordoned) return "cordoned";
  return one.schedulable ? "schedulable" : "not_schedulable";
}

function Inventory() {
  const [status, setStatus] = useState<Node["status"] | undefined>();
  const listing = useNodes(status);
  return (
    <ResourceTable
      label="Nodes"
      columns={COLUMNS}
      listing={listing}
      rowId={(one) => one.id}
      height="calc(100dvh - 18rem)"
      tools={
        <Select
          size="xs"
          w={140}
          placeholder="Any status"
          aria-label="Status"
          clearable
          data={STATUSES.map((one) => ({ value: one, label: labelOf(one) }))}
          value={status ?? null}
          onChange={(next) => setStatus((next ?? undefined) as Node["status"] | undefined)}
        />
      }
      empty={<Empty icon="nodes" title="No node is like that" />}
    />
  );
}

function Tokens({ may }: { may: boolean }) {
  const listing = useEnrolmentTokens();
  const columns = useMemo<Column<EnrolmentToken>[]>(
    () => [
      {
        key: "note",
        header: "For",
        width: "minmax(8rem, 2fr)",
        cell: (one) => one.note ?? one.id,
        value: (one) => one.note,
      },
      {
        key: "uses",
        header: "Used",
        width: "6rem",
        align: "end",
        cell: (one) => `${one.uses} of ${one.max_uses}`,
        value: (one) => one.uses,
      },
      {
        key: "state",
        header: "State",
        width: "8rem",
        cell: (one) => <StateBadge state={tokenState(one)} />,
        value: tokenState,
      },
      {
        key: "until",
        header: "Good until",
        width: "7rem",
        cell: (one) => <RelativeTime at={one.expires_at} />,
        value: (one) => one.expires_at,
      },
      {
        key: "actions",
        header: "Actions",
        width: "7rem",
        cell: (one) =>
          may &&
          tokenState(one) === "open" && (
            <ActionButton spec={tokenRevokeSpec} resource={one} name={one.note ?? one.id} size="compact-xs" />
          ),
      },
    ],
    [may],
  );
  return (
    <ResourceTable
      label="Enrolment tokens"
      columns={columns}
      listing={listing}
      rowId={(one) => one.id}
      empty={<Empty icon="key" title="No tokens" />}
    />
  );
}

function tokenState(one: EnrolmentToken): string {
  if (one.revoked_at) return "revoked";
  if (one.uses >= one.max_uses) return "used_up";
  return Date.parse(one.expires_at) < Date.now() ? "expired" : "open";
}
