import { Checkbox } from "@mantine/core";
import { useMemo, useState } from "react";
import { ActionBar } from "../actions/ActionBar";
import { useAllocations } from "../allocations/queries";
import type { Listing } from "../api/pages";
import type { Allocation, Instance, InstanceMember } from "../api/types";
import { stateColumn, timeColumn } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import { PageLink } from "../parts/PageLink";
import { type Column, ResourceTable } from "../parts/ResourceTable";
import type { Options } from "./actions";
import classes from "./MemberTable.module.css";
import { memberActions, namesOf } from "./memberActions";
import { memberName, probeLine } from "./members";

interface Props {
  instance: Instance;
  options: Options;
  members: Listing<InstanceMember>;
}

export function MemberTable({ instance, options, members }: Props) {
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const mark = (id: string) => {
    const next = new Set(marked);
    if (!next.delete(id)) next.add(id);
    setMarked(next);
  };
  const chosen = members.rows.filter((one) => marked.has(one.id));
  const any = members.rows.some((one) => one.allowed_actions.length > 0);
  const allocations = useAllocations(instance.project_id).rows;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `mark` is made of `marked`
  const columns = useMemo(
    () => columnsOf(instance, options, any, marked, mark, nameIn(allocations)),
    [instance, options, any, marked, allocations],
  );
  return (
    <>
      {chosen.length > 1 && (
        <div className={classes.many}>
          <span>{chosen.length} members</span>
          <ActionBar
            resource={{ instance, members: chosen }}
            name={namesOf(chosen)}
            allowed={common(chosen)}
            table={memberActions(options, true)}
            most={4}
          />
        </div>
      )}
      <ResourceTable
        label="Members"
        plain
        columns={columns}
        listing={members}
        rowId={(one) => one.id}
        empty={<Empty title="No members" />}
      />
    </>
  );
}

/** By name where it has one, or else by the end of the id. */
function nameIn(allocations: Allocation[]): (id: string) => string {
  const names = new Map(allocations.map((one) => [one.id, one.name]));
  return (id) => names.get(id) ?? id.slice(-8);
}

/** What may be asked of each of them. */
function common(members: InstanceMember[]): string[] {
  const [first, ...others] = members.map((one) => one.allowed_actions);
  return (first ?? []).filter((kind) => others.every((one) => one.includes(kind)));
}

function columnsOf(
  instance: Instance,
  options: Options,
  any: boolean,
  marked: ReadonlySet<string>,
  mark: (id: string) => void,
  allocationName: (id: string) => string,
): Column<InstanceMember>[] {
  const table = memberActions(options, false);
  const marks: Column<InstanceMember> = {
    key: "mark",
    header: "Select",
    quiet: true,
    width: "1.5rem",
    cell: (one) => (
      <Checkbox
        size="xs"
        aria-label={`Select ${memberName(one)}`}
        checked={marked.has(one.id)}
        onChange={() => mark(one.id)}
      />
    ),
  };
  const actions: Column<InstanceMember> = {
    key: "actions",
    header: "Actions",
    quiet: true,
    width: "minmax(11rem, auto)",
    align: "end",
    cell: (one) => (
      <span className={classes.actions} data-member={memberName(one)}>
        <ActionBar
          resource={{ instance, members: [one] }}
          name={memberName(one) ?? one.id}
          allowed={one.allowed_actions}
          table={table}
          most={2}
        />
      </span>
    ),
  };
  return [
    ...(any ? [marks] : []),
    {
      key: "name",
      header: "Member",
      width: "minmax(7rem, 1fr)",
      cell: (one) => <strong className={classes.name}>{memberName(one)}</strong>,
      value: (one) => memberName(one) ?? "",
    },
    stateColumn("status", "Status", (one) => one.status, "7rem"),
    {
      key: "why",
      header: "Status detail",
      width: "minmax(8rem, 3fr)",
      cell: (one) =>
        one.operation_id ? (
          <PageLink to={`/operations/${one.operation_id}`}>operation in progress</PageLink>
        ) : one.failure ? (
          <span className={classes.why} title={`${one.failure.message} ${one.failure.next_step}`}>
            {one.failure.message}
          </span>
        ) : one.health_reasons[0] ? (
          <span className={classes.why} title={one.health_reasons[0].next_step}>
            {one.health_reasons[0].message}
          </span>
        ) : one.probes.length ? (
          <span className={classes.why} title={one.probes.map(probeLine).join("\n")}>
            {one.probes.map((probe) => `${probe.key} ${probe.status}`).join(", ")}
          </span>
        ) : null,
    },
    {
      key: "allocation",
      header: "Allocation",
      width: "minmax(7rem, 1fr)",
      cell: (one) => (
        <PageLink to={`/allocations/${one.allocation_id}`}>{allocationName(one.allocation_id)}</PageLink>
      ),
      value: (one) => allocationName(one.allocation_id),
    },
    timeColumn("since", "Since", (one) => one.status_since),
    ...(any ? [actions] : []),
  ];
}
