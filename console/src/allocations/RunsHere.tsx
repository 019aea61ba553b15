import type { Allocation, InstanceSummary, ReceiptLine } from "../api/types";
import { Empty } from "../parts/Loaded";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { StateBadge } from "../parts/StateBadge";
import { useInstancesOn, useReceiptsOn } from "./queries";

const INSTANCES: Column<InstanceSummary>[] = [
  {
    key: "name",
    header: "Workload",
    width: "minmax(9rem, 2fr)",
    cell: (one) => <PageLink to={`/workloads/${one.id}`}>{one.name}</PageLink>,
    value: (one) => one.name,
  },
  {
    key: "app",
    header: "App",
    width: "minmax(7rem, 1fr)",
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
];

/** What lives on the allocation now. */
export function RunsHere({ allocation }: { allocation: Allocation }) {
  const listing = useInstancesOn(allocation.project_id, allocation.id);
  return (
    <Panel title="What runs here" flush>
      <ResourceTable
        plain
        label="Workloads on this allocation"
        columns={INSTANCES}
        listing={listing}
        rowId={(one) => one.id}
        empty={
          <Empty icon="play" title="No app lives here">
            {allocation.state === "active" && <PageLink to="/catalog">Launch one</PageLink>}
          </Empty>
        }
      />
    </Panel>
  );
}

const RECEIPTS: Column<ReceiptLine>[] = [
  {
    key: "status",
    header: "Receipt",
    width: "9rem",
    cell: (one) => <StateBadge state={one.status} />,
    value: (one) => one.status,
  },
  {
    key: "instance",
    header: "Of",
    width: "minmax(10rem, 2fr)",
    cell: (one) => <PageLink to={`/workloads/${one.instance_id}`}>{one.instance_id}</PageLink>,
    value: (one) => one.instance_id,
  },
  {
    key: "why",
    header: "What to know",
    width: "minmax(10rem, 2fr)",
    cell: (one) => (
      <span className="dim">
        {one.failure?.message ?? (one.status === "clean" ? "Nothing was left." : "")}
      </span>
    ),
  },
  {
    key: "at",
    header: "Seen",
    width: "5.5rem",
    cell: (one) => <RelativeTime at={one.settled_at ?? one.created_at} />,
    value: (one) => one.settled_at,
  },
];

/** What was torn down here before, and what the host said was left. */
export function ReceiptsHere({ allocation }: { allocation: Allocation }) {
  const listing = useReceiptsOn(allocation.project_id, allocation.id);
  if (listing.rows.length === 0) return null;
  return (
    <Panel title="Teardown receipts" flush>
      <ResourceTable
        plain
        label="Receipts of this allocation"
        columns={RECEIPTS}
        listing={listing}
        rowId={(one) => one.id}
        empty={null}
      />
    </Panel>
  );
}
