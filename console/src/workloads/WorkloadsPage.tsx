import { Button, Select } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { InstanceSummary } from "../api/types";
import { useProject } from "../app/project";
import { Empty } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { PageLink } from "../parts/PageLink";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { StateBadge } from "../parts/StateBadge";
import { labelOf } from "../parts/states";
import { type InstanceFilter, useInstances } from "./queries";

const STATUSES = ["created", "starting", "running", "stopping", "stopped", "failed"] as const;

const COLUMNS: Column<InstanceSummary>[] = [
  {
    key: "name",
    header: "Name",
    width: "minmax(10rem, 2fr)",
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
    width: "minmax(12rem, 3fr)",
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

export function WorkloadsPage() {
  const project = useProject();
  const navigate = useNavigate();
  const [filter, setFilter] = useState<InstanceFilter>({});
  const listing = useInstances(project.id, filter);
  return (
    <>
      <PageHead
        title="Workloads"
        lead="Apps that run on allocations of this project."
        actions={
          <Button size="xs" onClick={() => void navigate({ to: "/catalog" })}>
            Launch an app
          </Button>
        }
      />
      <ResourceTable
        label="Workloads"
        columns={COLUMNS}
        listing={listing}
        rowId={(one) => one.id}
        tools={
          <Select
            size="xs"
            w={140}
            placeholder="Any status"
            aria-label="Status"
            clearable
            data={STATUSES.map((status) => ({ value: status, label: labelOf(status) }))}
            value={filter.status ?? null}
            onChange={(status) => setFilter(status ? { status: status as InstanceSummary["status"] } : {})}
          />
        }
        empty={
          <Empty
            icon="play"
            title="Nothing runs here yet"
            text="Choose an app of the catalog and the allocations that it shall live on."
          >
            <PageLink to="/catalog">To the catalog</PageLink>
          </Empty>
        }
      />
    </>
  );
}
