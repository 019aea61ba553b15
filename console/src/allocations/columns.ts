// What tables of allocations show of each.
import type { Allocation } from "../api/types";
import { countColumn, linkColumn, stateColumn, timeColumn } from "../parts/columns";
import type { Column } from "../parts/ResourceTable";
import { nameOf } from "./actions";

/** Of an allocation in any project: the link goes into its own. */
export function allocationColumn(width: string): Column<Allocation> {
  const target = { to: (one: Allocation) => `/allocations/${one.id}`, project: projectOf };
  return linkColumn("name", "Allocation", nameOf, target, width);
}

function projectOf(one: { project_id: string }): string {
  return one.project_id;
}

export function gpusColumn(width = "4rem"): Column<Allocation> {
  return countColumn("gpus", "GPUs", (one) => one.gpu_count, width);
}

export const STATE: Column<Allocation> = stateColumn("state", "State", (one) => one.state, "8.5rem");

export const HEALTH: Column<Allocation> = stateColumn(
  "health",
  "Health",
  (one) => one.health ?? "",
  "6.5rem",
);

/** The sentence that says most about it now. */
export function statusDetailOf(one: Allocation): string | null {
  return one.failure?.message ?? one.health_reasons[0]?.message ?? one.phase;
}

export const SINCE: Column<Allocation> = timeColumn("since", "Since", (one) => one.state_since);
