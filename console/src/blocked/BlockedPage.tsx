import { useMemo } from "react";
import { ActionBar } from "../actions/ActionBar";
import { ALLOCATION_ACTIONS, nameOf } from "../allocations/actions";
import type { Allocation, Operation, ReceiptLine } from "../api/types";
import { useSlotMap } from "../nodes/queries";
import { useFleetLive } from "../nodes/useFleetLive";
import { Mono } from "../parts/KeyValues";
import { Empty } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { StateBadge } from "../parts/StateBadge";
import { wholeListing } from "../parts/wholeListing";
import { STUCK_ACTIONS } from "./actions";
import classes from "./BlockedPage.module.css";
import { type BlockedGroup, blockedOf } from "./blockedSlots";
import { useAllocationsOf, useOperationsOf, useReceiptsOf } from "./queries";

/** Whatever does not go on by itself, in any project, each with its ways out. */
export function BlockedPage() {
  useFleetLive();
  return (
    <>
      <PageHead
        title="Blocked"
        lead="What does not go on by itself, in any project, and the ways out of it."
      />
      <div className="stack">
        <Releases />
        <BlockedSlots />
        <Operations status="failed" title="Failed operations" />
        <Operations status="expired" title="Operations that ran out of time" />
        <Operations status="running" title="Operations that run now" />
        <Receipts status="left" title="Teardowns that left something" />
        <Receipts status="unseen" title="Teardowns that nobody could look at" />
      </div>
    </>
  );
}

const RELEASES: Column<Allocation>[] = [
  {
    key: "name",
    header: "Allocation",
    width: "minmax(9rem, 1.5fr)",
    cell: (one) => (
      <PageLink to={`/allocations/${one.id}`} search={{ project: one.project_id }}>
        {nameOf(one)}
      </PageLink>
    ),
    value: (one) => nameOf(one),
  },
  {
    key: "why",
    header: "Why",
    width: "minmax(14rem, 3fr)",
    cell: (one) => <Why failure={one.failure} />,
    value: (one) => one.failure?.message ?? null,
  },
  {
    key: "node",
    header: "Node",
    width: "minmax(8rem, 1fr)",
    cell: (one) => <PageLink to={`/ops/nodes/${one.node_id}`}>{one.node_id}</PageLink>,
    value: (one) => one.node_id,
  },
  {
    key: "gpus",
    header: "GPUs",
    width: "4rem",
    align: "end",
    cell: (one) => one.gpu_count,
    value: (one) => one.gpu_count,
  },
  {
    key: "since",
    header: "Since",
    width: "5.5rem",
    cell: (one) => <RelativeTime at={one.state_since} />,
    value: (one) => one.state_since,
  },
  {
    key: "exits",
    header: "Ways out",
    width: "18rem",
    cell: (one) => (
      <span className={classes.exits}>
        <ActionBar
          resource={one}
          name={nameOf(one)}
          allowed={one.allowed_actions}
          table={ALLOCATION_ACTIONS}
          size="compact-xs"
        />
      </span>
    ),
  },
];

function Why({ failure }: { failure: { message: string; next_step: string; code: string } | null }) {
  if (!failure) return <span className="dim">–</span>;
  return (
    <span className={classes.why}>
      <span>{failure.message}</span>
      <span className="dim">{failure.next_step}</span>
      <code>{failure.code}</code>
    </span>
  );
}

function Releases() {
  const listing = useAllocationsOf({ state: "release_failed" });
  return (
    <Panel
      title="Releases that did not end"
      flush
      aside={listing.rows.length > 0 && `${listing.rows.length}${listing.more ? "+" : ""}`}
    >
      <ResourceTable
        plain
        label="Releases that did not end"
        columns={RELEASES}
        listing={listing}
        rowId={(one) => one.id}
        empty={<Empty icon="check" title="Every release has ended" />}
      />
    </Panel>
  );
}

const SLOTS: Column<BlockedGroup>[] = [
  {
    key: "node",
    header: "Node",
    width: "minmax(9rem, 1.5fr)",
    cell: (one) => <PageLink to={`/ops/nodes/${one.node.id}`}>{one.node.name}</PageLink>,
    value: (one) => one.node.name,
  },
  {
    key: "gpus",
    header: "GPUs",
    width: "minmax(7rem, 1fr)",
    cell: (one) => one.indexes.join(", "),
    value: (one) => one.indexes.length,
  },
  {
    key: "why",
    header: "Why",
    width: "minmax(10rem, 2fr)",
    cell: (one) => <code>{one.reason ?? ""}</code>,
    value: (one) => one.reason,
  },
  {
    key: "of",
    header: "Held by",
    width: "minmax(12rem, 2fr)",
    cell: (one) => (one.allocation ? <Mono text={one.allocation} copy="Copy allocation id" /> : "–"),
    value: (one) => one.allocation,
  },
];

function BlockedSlots() {
  const query = useSlotMap("cleanup_blocked");
  const rows = useMemo(() => query.data?.flatMap(blockedOf), [query.data]);
  const listing = wholeListing({ ...query, data: rows });
  const gpus = listing.rows.reduce((sum, one) => sum + one.indexes.length, 0);
  return (
    <Panel title="GPUs out of the pool until they are proven clean" flush aside={gpus > 0 && `${gpus}`}>
      <ResourceTable
        plain
        label="Blocked GPUs"
        columns={SLOTS}
        listing={listing}
        rowId={(one) => one.id}
        empty={<Empty icon="check" title="No GPU is blocked" />}
      />
    </Panel>
  );
}

const OPERATIONS: Column<Operation>[] = [
  {
    key: "kind",
    header: "Operation",
    width: "minmax(9rem, 1.5fr)",
    cell: (one) => (
      <PageLink to={`/operations/${one.id}`} search={{ project: one.project_id }}>
        {one.kind} of {one.app_slug}
      </PageLink>
    ),
    value: (one) => `${one.kind} ${one.app_slug}`,
  },
  {
    key: "status",
    header: "Status",
    width: "8rem",
    cell: (one) => <StateBadge state={one.phase ?? one.status} />,
    value: (one) => one.phase ?? one.status,
  },
  {
    key: "why",
    header: "Why",
    width: "minmax(14rem, 3fr)",
    cell: (one) => <Why failure={one.failure} />,
    value: (one) => one.failure?.message ?? null,
  },
  {
    key: "deadline",
    header: "Deadline",
    width: "6rem",
    cell: (one) => <RelativeTime at={one.deadline_at} />,
    value: (one) => one.deadline_at,
  },
  {
    key: "since",
    header: "Since",
    width: "5.5rem",
    cell: (one) => <RelativeTime at={one.status_since} />,
    value: (one) => one.status_since,
  },
  {
    key: "exits",
    header: "Ways out",
    width: "11rem",
    cell: (one) => (
      <span className={classes.exits}>
        <ActionBar
          resource={one}
          name={one.id}
          allowed={one.allowed_actions}
          table={STUCK_ACTIONS}
          size="compact-xs"
        />
      </span>
    ),
  },
];

function Operations({ status, title }: { status: Operation["status"]; title: string }) {
  const listing = useOperationsOf(status);
  if (listing.rows.length === 0 && !listing.error && status !== "failed") return null;
  return (
    <Panel
      title={title}
      flush
      aside={listing.rows.length > 0 && `${listing.rows.length}${listing.more ? "+" : ""}`}
    >
      <ResourceTable
        plain
        label={title}
        columns={OPERATIONS}
        listing={listing}
        rowId={(one) => one.id}
        empty={<Empty icon="check" title="None" />}
      />
    </Panel>
  );
}

const RECEIPTS: Column<ReceiptLine>[] = [
  {
    key: "operation",
    header: "Teardown",
    width: "minmax(11rem, 1.5fr)",
    cell: (one) => (
      <PageLink to={`/operations/${one.operation_id}`} search={{ project: one.project_id }}>
        {one.operation_id}
      </PageLink>
    ),
    value: (one) => one.operation_id,
  },
  {
    key: "status",
    header: "Receipt",
    width: "8rem",
    cell: (one) => <StateBadge state={one.status} />,
    value: (one) => one.status,
  },
  {
    key: "left",
    header: "Left",
    width: "4rem",
    align: "end",
    cell: (one) => one.left,
    value: (one) => one.left,
  },
  {
    key: "why",
    header: "Why",
    width: "minmax(14rem, 3fr)",
    cell: (one) => <Why failure={one.failure} />,
    value: (one) => one.failure?.message ?? null,
  },
  {
    key: "node",
    header: "Node",
    width: "minmax(8rem, 1fr)",
    cell: (one) => <PageLink to={`/ops/nodes/${one.node_id}`}>{one.node_id}</PageLink>,
    value: (one) => one.node_id,
  },
  {
    key: "at",
    header: "Seen",
    width: "5.5rem",
    cell: (one) => <RelativeTime at={one.settled_at ?? one.created_at} />,
    value: (one) => one.settled_at,
  },
];

function Receipts({ status, title }: { status: ReceiptLine["status"]; title: string }) {
  const listing = useReceiptsOf(status);
  if (listing.rows.length === 0 && !listing.error) return null;
  return (
    <Panel title={title} flush>
      <ResourceTable
        plain
        label={title}
        columns={RECEIPTS}
        listing={listing}
        rowId={(one) => one.id}
        empty={null}
      />
    </Panel>
  );
}
