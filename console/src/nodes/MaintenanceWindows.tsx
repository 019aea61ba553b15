import { barColumn } from "../actions/columns";
import type { MaintenanceWindow } from "../api/types";
import { dimColumn, stateColumn, textColumn } from "../parts/columns";
import type { Column } from "../parts/ResourceTable";
import { TablePanel } from "../parts/TablePanel";
import { exactTime } from "../parts/time";
import { WINDOW_ACTIONS } from "./maintenanceActions";
import { useMaintenanceWindows } from "./queries";

const COLUMNS: Column<MaintenanceWindow>[] = [
  textColumn("reason", "Reason", (one) => one.reason, "minmax(13rem, 3fr)"),
  // Not the words of the API: an active allocation is a good thing, maintenance that goes on is a warning.
  stateColumn(
    "state",
    "State",
    (one) => (one.state === "active" ? "in_maintenance" : one.state),
    "8.5rem",
    (one) => one.state,
  ),
  textColumn(
    "from",
    "From",
    (one) => one.starts_at,
    "11rem",
    (one) => exactTime(one.starts_at),
  ),
  textColumn(
    "until",
    "Until",
    (one) => one.ends_at,
    "11rem",
    (one) => exactTime(one.ends_at),
  ),
  dimColumn("note", "Note", (one) => one.finished_reason, "minmax(3rem, 1fr)"),
  barColumn({ table: WINDOW_ACTIONS, name: (one) => one.id }, "6rem"),
];

/** Planned, going on and over. Nothing is shown of a node that never had any. */
export function MaintenanceWindows({ node }: { node: string }) {
  const listing = useMaintenanceWindows(node);
  if (listing.rows.length === 0) return null;
  return <TablePanel title="Maintenance" columns={COLUMNS} listing={listing} empty={null} />;
}
