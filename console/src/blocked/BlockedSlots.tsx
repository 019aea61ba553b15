import { useMemo } from "react";
import { useSlotMap } from "../nodes/queries";
import { codeColumn, linkColumn } from "../parts/columns";
import { Mono } from "../parts/KeyValues";
import { Empty } from "../parts/Loaded";
import type { Column } from "../parts/ResourceTable";
import { TablePanel } from "../parts/TablePanel";
import { wholeListing } from "../parts/wholeListing";
import { type BlockedGroup, blockedOf } from "./blockedSlots";

const COLUMNS: Column<BlockedGroup>[] = [
  linkColumn(
    "node",
    "Node",
    (one) => one.node.name,
    { to: (one) => `/ops/nodes/${one.node.id}` },
    "minmax(9rem, 1.5fr)",
  ),
  {
    key: "gpus",
    header: "GPUs",
    width: "minmax(7rem, 1fr)",
    cell: (one) => one.indexes.join(", "),
    value: (one) => one.indexes.length,
  },
  codeColumn("why", "Why", (one) => one.reason, "minmax(10rem, 2fr)"),
  {
    key: "of",
    header: "Allocation",
    width: "minmax(12rem, 2fr)",
    cell: (one) => (one.allocation ? <Mono text={one.allocation} copy="Copy allocation id" /> : "–"),
    value: (one) => one.allocation,
  },
];

export function BlockedSlots() {
  const query = useSlotMap("cleanup_blocked");
  const rows = useMemo(() => query.data?.flatMap(blockedOf), [query.data]);
  const listing = wholeListing({ ...query, data: rows });
  const gpus = listing.rows.reduce((sum, one) => sum + one.indexes.length, 0);
  return (
    <TablePanel
      title="GPUs whose wipe is not proven"
      label="Blocked GPUs"
      aside={gpus > 0 && `${gpus}`}
      columns={COLUMNS}
      listing={listing}
      empty={<Empty icon="check" title="No blocked GPUs" />}
    />
  );
}
