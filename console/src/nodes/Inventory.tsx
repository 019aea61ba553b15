import { useState } from "react";
import type { Node } from "../api/types";
import { countColumn, dimColumn, linkColumn, stateColumn, timeColumn } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { StateFilter } from "../parts/StateFilter";
import { useNodes } from "./queries";
import { schedulingStateOf } from "./schedulingState";

const STATUSES: Node["status"][] = ["enrolled", "ready", "lost", "retired"];

const COLUMNS: Column<Node>[] = [
  linkColumn(
    "name",
    "Name",
    (one) => one.name,
    { to: (one) => `/ops/nodes/${one.id}` },
    "minmax(9rem, 2fr)",
    (one) => `${one.name} ${one.hostname}`,
  ),
  stateColumn("status", "Status", (one) => one.status, "7rem"),
  stateColumn("service", "Service", schedulingStateOf),
  countColumn("gpus", "GPUs", (one) => one.slots.total, "4.5rem"),
  countColumn("claimed", "Claimed", (one) => one.slots.claimed),
  countColumn(
    "waiting",
    "To approve",
    (one) => one.slots.discovered,
    "6rem",
    (one) => one.slots.discovered || "",
  ),
  countColumn(
    "blocked",
    "Blocked",
    (one) => one.slots.cleanup_blocked,
    "5rem",
    (one) => one.slots.cleanup_blocked || "",
  ),
  dimColumn("agent", "Agent", (one) => one.agent_version, "6rem"),
  timeColumn("seen", "Seen", (one) => one.last_seen_at),
];

export function Inventory() {
  const [status, setStatus] = useState<Node["status"] | undefined>();
  const listing = useNodes(status);
  return (
    <ResourceTable
      label="Nodes"
      columns={COLUMNS}
      listing={listing}
      rowId={(one) => one.id}
      height="calc(100dvh - 18rem)"
      tools={<StateFilter label="Status" states={STATUSES} value={status} onChange={setStatus} />}
      empty={<Empty icon="nodes" title="No matching nodes" />}
    />
  );
}
