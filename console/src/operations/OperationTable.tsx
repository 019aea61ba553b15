import { useMemo } from "react";
import type { Operation } from "../api/types";
import { useProject } from "../app/project";
import { Empty } from "../parts/Loaded";
import { PageLink } from "../parts/PageLink";
import { RelativeTime } from "../parts/RelativeTime";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import { labelOf } from "../parts/states";
import { duration, secondsBetween } from "../parts/time";
import { OperationBadge } from "./OperationBadge";
import { type OperationFilter, useOperations } from "./queries";

interface Props {
  filter: OperationFilter;
  nameOf: (member: string) => string;
}

export function OperationTable({ filter, nameOf }: Props) {
  const project = useProject();
  const listing = useOperations(project.id, filter);
  const columns = useMemo(() => columnsOf(nameOf), [nameOf]);
  return (
    <ResourceTable
      label="Operations"
      plain
      columns={columns}
      listing={listing}
      rowId={(one) => one.id}
      empty={<Empty title="Nothing was asked for yet" />}
    />
  );
}

function columnsOf(nameOf: (member: string) => string): Column<Operation>[] {
  return [
    {
      key: "kind",
      header: "Operation",
      width: "minmax(9rem, 1fr)",
      cell: (one) => (
        <PageLink to={`/operations/${one.id}`}>
          {labelOf(one.kind)}
          {one.member_id ? ` ${nameOf(one.member_id)}` : one.children ? " of many" : ""}
        </PageLink>
      ),
      value: (one) => one.kind,
    },
    {
      key: "status",
      header: "Status",
      width: "8rem",
      cell: (one) => <OperationBadge operation={one} />,
      value: (one) => one.status,
    },
    {
      key: "says",
      header: "What to know",
      width: "minmax(12rem, 3fr)",
      cell: (one) => (
        <span className="dim">{one.failure?.message ?? one.progress?.message ?? one.reason ?? ""}</span>
      ),
      value: (one) => one.failure?.message ?? null,
    },
    {
      key: "by",
      header: "By",
      width: "minmax(7rem, 1fr)",
      cell: (one) => one.requested_by_name,
      value: (one) => one.requested_by_name,
    },
    {
      key: "took",
      header: "Took",
      width: "6rem",
      align: "end",
      cell: (one) => (one.finished_at ? duration(secondsBetween(one.created_at, one.finished_at, 0)) : "–"),
    },
    {
      key: "at",
      header: "Asked for",
      width: "6rem",
      cell: (one) => <RelativeTime at={one.created_at} />,
      value: (one) => one.created_at,
    },
  ];
}
