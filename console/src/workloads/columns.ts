// What tables of workloads show of each.
import type { InstanceSummary } from "../api/types";
import { countColumn, dimColumn, linkColumn, stateColumn, textColumn, timeColumn } from "../parts/columns";
import type { Column } from "../parts/ResourceTable";

export function workloadColumn(header: string, width: string): Column<InstanceSummary> {
  const target = { to: (one: InstanceSummary) => `/workloads/${one.id}` };
  return linkColumn("name", header, (one) => one.name, target, width);
}

export function appColumn(width: string): Column<InstanceSummary> {
  const shown = (one: InstanceSummary) => `${one.app_slug} ${one.version}`;
  return textColumn("app", "App", (one) => one.app_slug, width, shown);
}

export const STATUS: Column<InstanceSummary> = stateColumn("status", "Status", (one) =>
  one.decommissioned_at ? "decommissioned" : one.status,
);
export const HEALTH: Column<InstanceSummary> = stateColumn("health", "Health", (one) => one.health);

export const columns: Column<InstanceSummary>[] = [
  workloadColumn("Name", "minmax(8rem, 2fr)"),
  appColumn("minmax(8rem, 1fr)"),
  STATUS,
  HEALTH,
  countColumn("members", "Members", memberCount),
  dimColumn(
    "reason",
    "Status detail",
    (one) => one.failure?.message ?? one.health_reasons[0]?.message,
    "minmax(9rem, 3fr)",
  ),
  timeColumn("since", "Since", (one) => one.status_since),
];

function memberCount(one: InstanceSummary): number {
  return Object.values(one.member_counts).reduce((sum, count) => sum + count, 0);
}
