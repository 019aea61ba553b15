import type { ReceiptLine } from "../api/types";
import { nodeColumn } from "../nodes/columns";
import { countColumn, linkColumn } from "../parts/columns";
import type { Column } from "../parts/ResourceTable";
import { TablePanel } from "../parts/TablePanel";
import { receiptColumn, SEEN } from "../receipts/columns";
import { useReceiptsOf } from "./queries";
import { whyColumn } from "./why";

const COLUMNS: Column<ReceiptLine>[] = [
  linkColumn(
    "operation",
    "Teardown",
    (one) => one.operation_id,
    { to: (one) => `/operations/${one.operation_id}`, project: (one) => one.project_id },
    "minmax(11rem, 1.5fr)",
  ),
  receiptColumn("8rem"),
  countColumn("left", "Left", (one) => one.left, "4rem"),
  whyColumn(),
  nodeColumn(),
  SEEN,
];

/** Receipts that are not clean; none is no news. */
export function Teardowns({ status, title }: { status: ReceiptLine["status"]; title: string }) {
  const listing = useReceiptsOf(status);
  if (listing.rows.length === 0 && !listing.error) return null;
  return <TablePanel title={title} columns={COLUMNS} listing={listing} empty={null} />;
}
