// What tables of teardown receipts show of each.
import type { ReceiptLine } from "../api/types";
import { stateColumn, timeColumn } from "../parts/columns";
import type { Column } from "../parts/ResourceTable";

export function receiptColumn(width: string): Column<ReceiptLine> {
  return stateColumn("status", "Receipt", (one) => one.status, width);
}

/** When the host looked; until then, when it was asked to. */
export const SEEN: Column<ReceiptLine> = timeColumn(
  "at",
  "Seen",
  (one) => one.settled_at ?? one.created_at,
  "5.5rem",
  (one) => one.settled_at,
);
