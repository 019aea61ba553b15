import { allocationColumn, gpusColumn, SINCE, STATE } from "../allocations/columns";
import type { Allocation } from "../api/types";
import { useAllocationsOf } from "../blocked/queries";
import { Empty } from "../parts/Loaded";
import type { Column } from "../parts/ResourceTable";
import { TablePanel } from "../parts/TablePanel";

const COLUMNS: Column<Allocation>[] = [allocationColumn("minmax(9rem, 2fr)"), STATE, gpusColumn(), SINCE];

/** The allocations that are on the node, and those that were. */
export function NodeAllocations({ node }: { node: string }) {
  const listing = useAllocationsOf({ node_id: node });
  return (
    <TablePanel
      title="Allocations"
      label="Allocations on the node"
      columns={COLUMNS}
      listing={listing}
      empty={<Empty icon="cpu" title="No allocations yet" />}
    />
  );
}
