import type { Allocation, InstanceSummary, ReceiptLine } from "../api/types";
import { dimColumn, linkColumn, unsorted } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import { PageLink } from "../parts/PageLink";
import type { Column } from "../parts/ResourceTable";
import { TablePanel } from "../parts/TablePanel";
import { receiptColumn, SEEN } from "../receipts/columns";
import { useReceipts } from "../receipts/queries";
import { appColumn, HEALTH, STATUS, workloadColumn } from "../workloads/columns";
import { useInstances } from "../workloads/queries";

const INSTANCES: Column<InstanceSummary>[] = [
  workloadColumn("Workload", "minmax(9rem, 2fr)"),
  appColumn("minmax(7rem, 1fr)"),
  STATUS,
  HEALTH,
];

/** What lives on the allocation now. */
export function AllocationWorkloads({ allocation }: { allocation: Allocation }) {
  const listing = useInstances(allocation.project_id, { allocation_id: allocation.id });
  return (
    <TablePanel
      title="Workloads here"
      label="Workloads on this allocation"
      columns={INSTANCES}
      listing={listing}
      empty={
        <Empty icon="play" title="No workload here">
          {allocation.state === "active" && <PageLink to="/catalog">Launch one</PageLink>}
        </Empty>
      }
    />
  );
}

const RECEIPTS: Column<ReceiptLine>[] = [
  receiptColumn("9rem"),
  linkColumn(
    "instance",
    "Workload",
    (one) => one.instance_id,
    { to: (one) => `/workloads/${one.instance_id}` },
    "minmax(10rem, 2fr)",
  ),
  unsorted(
    dimColumn(
      "why",
      "Status detail",
      (one) => one.failure?.message ?? (one.status === "clean" ? "Nothing is left." : ""),
      "minmax(10rem, 2fr)",
    ),
  ),
  SEEN,
];

/** Past teardowns on this allocation, and what the host reported. */
export function ReceiptsHere({ allocation }: { allocation: Allocation }) {
  const listing = useReceipts(allocation.project_id, { allocation_id: allocation.id });
  if (listing.rows.length === 0) return null;
  return (
    <TablePanel
      title="Teardown receipts"
      label="Receipts of this allocation"
      columns={RECEIPTS}
      listing={listing}
      empty={null}
    />
  );
}
