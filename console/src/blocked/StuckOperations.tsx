import { barColumn } from "../actions/columns";
import type { Operation } from "../api/types";
import { operationActions } from "../operations/actions";
import { isLive } from "../operations/queries";
import { stateColumn, timeColumn } from "../parts/columns";
import { Empty } from "../parts/Loaded";
import { PageLink } from "../parts/PageLink";
import type { Column } from "../parts/ResourceTable";
import { countOf, TablePanel } from "../parts/TablePanel";
import { useOperationsOf } from "./queries";
import { whyColumn } from "./why";

const COLUMNS: Column<Operation>[] = [
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
  stateColumn("status", "Status", (one) => one.phase ?? one.status),
  whyColumn(),
  timeColumn("deadline", "Deadline", (one) => (isLive(one) ? one.deadline_at : null), "6rem"),
  timeColumn("since", "Since", (one) => one.status_since),
  barColumn({ table: operationActions, name: (one) => one.id, header: "Actions" }, "11rem"),
];

/** Operations in a status that somebody should look at; only that none has failed is worth saying. */
export function StuckOperations({ status, title }: { status: Operation["status"]; title: string }) {
  const listing = useOperationsOf(status);
  if (listing.rows.length === 0 && !listing.error && status !== "failed") return null;
  return (
    <TablePanel
      title={title}
      aside={countOf(listing)}
      columns={COLUMNS}
      listing={listing}
      empty={<Empty icon="check" title="None" />}
    />
  );
}
