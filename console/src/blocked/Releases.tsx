import { barColumn } from "../actions/columns";
import { ALLOCATION_ACTIONS, nameOf } from "../allocations/actions";
import { allocationColumn, gpusColumn, SINCE } from "../allocations/columns";
import type { Allocation } from "../api/types";
import { nodeColumn } from "../nodes/columns";
import { Empty } from "../parts/Loaded";
import type { Column } from "../parts/ResourceTable";
import { countOf, TablePanel } from "../parts/TablePanel";
import { useAllocationsOf } from "./queries";
import { whyColumn } from "./why";

const COLUMNS: Column<Allocation>[] = [
  allocationColumn("minmax(9rem, 1.5fr)"),
  whyColumn(),
  nodeColumn(),
  gpusColumn(),
  SINCE,
  barColumn({ table: ALLOCATION_ACTIONS, name: nameOf, header: "Actions" }, "18rem"),
];

export function Releases() {
  const listing = useAllocationsOf({ state: "release_failed" });
  return (
    <TablePanel
      title="Failed releases"
      aside={countOf(listing)}
      columns={COLUMNS}
      listing={listing}
      empty={<Empty icon="check" title="No failed releases" />}
    />
  );
}
