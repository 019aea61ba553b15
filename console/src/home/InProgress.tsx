import type { Operation } from "../api/types";
import { OperationBadge } from "../operations/OperationBadge";
import { useOperations } from "../operations/queries";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { labelOf } from "../parts/states";
import classes from "./Attention.module.css";

const MOST = 8;

/** Operations that work now. Nothing under way: nothing is shown. */
export function InProgress({ project }: { project: string }) {
  const running = useOperations(project, { status: "running" });
  const claimed = useOperations(project, { status: "claimed" });
  const live = [...claimed.rows, ...running.rows].filter((one) => one.parent_id === null);
  if (live.length === 0) return null;
  return (
    <Panel title="In progress" flush>
      <ul className={classes.troubles}>
        {live.slice(0, MOST).map((one) => (
          <Row key={one.id} operation={one} />
        ))}
      </ul>
    </Panel>
  );
}

function Row({ operation }: { operation: Operation }) {
  return (
    <li className={classes.trouble}>
      <div className={classes.head}>
        <PageLink to={`/operations/${operation.id}`} className={classes.name}>
          {labelOf(operation.kind)} ({operation.app_slug})
        </PageLink>
        <OperationBadge operation={operation} />
        <span className="dim">for {operation.requested_by_name}</span>
        <span className={classes.since}>
          <RelativeTime at={operation.created_at} />
        </span>
      </div>
    </li>
  );
}
