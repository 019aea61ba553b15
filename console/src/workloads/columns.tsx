// What tables of workloads show of each.
import type { InstanceSummary } from "../api/types";
import { PageLink } from "../parts/PageLink";
import { RelativeTime } from "../parts/RelativeTime";
import type { Column } from "../parts/ResourceTable";
import { StateBadge } from "../parts/StateBadge";

export const columns: Column<InstanceSummary>[] = [
  {
    key: "name",
    header: "Name",
    width: "minmax(8rem, 2fr)",
    cell: (one) => <PageLink to={`/workloads/${one.id}`}>{one.name}</PageLink>,
    value: (one) => one.name,
  },
  {
    key: "app",
    header: "App",
    width: "minmax(8rem, 1fr)",
    cell: (one) => `${one.app_slug} ${one.version}`,
    value: (one) => one.app_slug,
  },
  {
    key: "status",
    header: "Status",
    width: "8rem",
    cell: (one) => <StateBadge state={one.status} />,
    value: (one) => one.status,
  },
  {
    key: "health",
    header: "Health",
    width: "8rem",
    cell: (one) => <StateBadge state={one.health} />,
    value: (one) => one.health,
  },
  {
    key: "members",
    header: "Members",
    width: "5rem",
    align: "end",
    cell: (one) => memberCount(one),
    value: (one) => memberCount(one),
  },
  {
    key: "reason",
    header: "What to know",
    width: "minmax(9rem, 3fr)",
    cell: (one) => (
      <span className="dim">{one.failure?.message ?? one.health_reasons[0]?.message ?? ""}</span>
    ),
    value: (one) => one.failure?.message ?? one.health_reasons[0]?.message ?? null,
  },
  {
    key: "since",
    header: "Since",
    width: "5.5rem",
    cell: (one) => <RelativeTime at={one.status_since} />,
    value: (one) => one.status_since,
  },
];

function memberCount(one: InstanceSummary): number {
  return Object.values(one.member_counts).reduce((sum, count) => sum + count, 0);
}
