import { useMemo } from "react";
import type { Operation } from "../api/types";
import { useProject } from "../app/project";
import { dimColumn, textColumn, timeColumn } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import { PageLink } from "../parts/PageLink";
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
      empty={<Empty title="No operations yet" />}
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
    dimColumn(
      "says",
      "Status detail",
      (one) => one.failure?.message,
      "minmax(12rem, 3fr)",
      (one) => one.failure?.message ?? one.progress?.message ?? one.reason ?? "",
    ),
    textColumn("by", "By", (one) => one.requested_by_name, "minmax(7rem, 1fr)"),
    {
      key: "took",
      header: "Duration",
      width: "6rem",
      align: "end",
      cell: (one) => (one.finished_at ? duration(secondsBetween(one.created_at, one.finished_at, 0)) : "–"),
    },
    timeColumn("at", "Requested", (one) => one.created_at, "6rem"),
  ];
}
