// What needs somebody, each with what to do next. The API says what is wrong; here it is only put into one list.
import type { Allocation, InstanceSummary, Operation } from "../api/types";

export interface AttentionItem {
  id: string;
  to: string;
  name: string;
  state: string;
  since: string;
  message: string;
  next: string;
}

export function ofInstance(one: InstanceSummary): AttentionItem {
  const reason = one.health_reasons[0];
  const state = one.status === "failed" ? one.status : one.health;
  return {
    id: one.id,
    to: `/workloads/${one.id}`,
    name: one.name,
    state,
    since: one.status === "failed" ? one.status_since : one.health_since,
    message: one.failure?.message ?? reason?.message ?? "No reason was reported.",
    next: one.failure?.next_step ?? "Open it to see all reasons and possible actions.",
  };
}

/** In use, but something is wrong with it or its host. */
export function isUnhealthy(one: Allocation): boolean {
  return one.health === "unhealthy" || one.health === "degraded";
}

export function ofAllocation(one: Allocation): AttentionItem {
  const reason = one.health_reasons[0];
  const ill = one.state === "active" && one.health !== null;
  return {
    id: one.id,
    to: `/allocations/${one.id}`,
    name: one.name ?? one.id,
    state: ill ? (one.health ?? one.state) : one.state,
    since: (ill && reason?.since) || one.state_since,
    message: reason?.message ?? one.failure?.message ?? "No reason was reported.",
    next: reason?.next_step ?? one.failure?.next_step ?? "Open it to see what happened.",
  };
}

/** A pending operation is normally claimed within milliseconds: after this time the app's controller is considered away. */
const WAITED_TOO_LONG_MS = 60_000;

export function isStuck(one: Operation, now: number): boolean {
  return (
    one.status === "pending" &&
    one.children === null &&
    now - Date.parse(one.status_since) > WAITED_TOO_LONG_MS
  );
}

export function ofOperation(one: Operation): AttentionItem {
  return {
    id: one.id,
    to: `/operations/${one.id}`,
    name: `${one.kind} (${one.app_slug})`,
    state: one.status,
    since: one.status_since,
    message: "No controller has claimed it.",
    next: "Check that the app's controller runs for this project, or cancel the operation.",
  };
}

/** The newest first, and nothing twice. */
export function newestFirst(...lists: AttentionItem[][]): AttentionItem[] {
  const all = new Map(lists.flat().map((one) => [one.id, one]));
  return [...all.values()].sort((one, other) => Date.parse(other.since) - Date.parse(one.since));
}
