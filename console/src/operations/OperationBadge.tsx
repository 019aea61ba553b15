import type { Operation } from "../api/types";
import { StateBadge } from "../parts/StateBadge";
import { isLive } from "./queries";

/** A workload that runs is well; an operation that runs is being worked on. */
export function OperationBadge({ operation }: { operation: Operation }) {
  const state = operation.phase ?? operation.status;
  return isLive(operation) ? <StateBadge state={state} tone="busy" /> : <StateBadge state={state} />;
}
