import { barColumn } from "../actions/columns";
import type { Listing } from "../api/pages";
import type { Slot } from "../api/types";
import { codeColumn, countColumn, dimColumn, stateColumn, textColumn } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import type { Column } from "../parts/ResourceTable";
import { TablePanel } from "../parts/TablePanel";
import { SLOT_ACTIONS } from "./actions";

const COLUMNS: Column<Slot>[] = [
  countColumn("index", "#", (one) => one.slot_index, "3rem"),
  stateColumn("status", "Status", (one) => one.status, "9rem"),
  textColumn("model", "GPU", (one) => one.gpu_model, "minmax(10rem, 2fr)"),
  codeColumn("pci", "PCI", (one) => one.pci_address, "8rem"),
  countColumn(
    "numa",
    "NUMA",
    (one) => one.numa_node,
    "4.5rem",
    (one) => one.numa_node ?? "–",
  ),
  textColumn(
    "link",
    "NVLink",
    (one) => one.nvlink_group,
    "5rem",
    (one) => one.nvlink_group ?? "–",
  ),
  textColumn("shape", "Shape", (one) => one.capacity_shape, "6rem"),
  dimColumn(
    "why",
    "Reason",
    (one) => one.status_reason,
    "minmax(8rem, 2fr)",
    (one) => (one.present ? one.status_reason : "missing from the last inventory"),
  ),
  barColumn({ table: SLOT_ACTIONS, name: (one) => `GPU ${one.slot_index}` }, "6.5rem"),
];

export function NodeSlots({ slots }: { slots: Listing<Slot> }) {
  return (
    <TablePanel
      title="Slots"
      label="Slots of the node"
      columns={COLUMNS}
      listing={slots}
      empty={<Empty icon="cpu" title="No slots" />}
      height="30rem"
    />
  );
}
