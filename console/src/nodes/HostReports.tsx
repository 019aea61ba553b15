import { barColumn } from "../actions/columns";
import type { HostReport } from "../api/types";
import { dimColumn, stateColumn, textColumn, timeColumn } from "../parts/columns";
import type { Column } from "../parts/ResourceTable";
import { TablePanel } from "../parts/TablePanel";
import { REPORT_ACTIONS } from "./actions";
import { useHostReports } from "./queries";

const COLUMNS: Column<HostReport>[] = [
  textColumn("reason", "Report", (one) => one.reason, "minmax(12rem, 3fr)"),
  stateColumn("state", "State", (one) => (one.cleared_at ? "cleared" : "open"), "6rem"),
  dimColumn("by", "Reported by", (one) => one.reported_by, "minmax(8rem, 1fr)"),
  dimColumn("cleared", "Resolution", (one) => one.cleared_reason, "minmax(8rem, 2fr)"),
  timeColumn("at", "When", (one) => one.created_at),
  barColumn({ table: REPORT_ACTIONS, name: (one) => one.id }, "7rem"),
];

/** Tenants' reports of broken hosts. Nothing is shown for a node without reports. */
export function HostReports({ node }: { node: string }) {
  const listing = useHostReports(node);
  if (listing.rows.length === 0) return null;
  return <TablePanel title="Reported as broken" columns={COLUMNS} listing={listing} empty={null} />;
}
