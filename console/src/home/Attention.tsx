import { useOperations } from "../operations/queries";
import { Empty, Failed, Loading } from "../parts/Loaded";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { StateBadge } from "../parts/StateBadge";
import { useNow } from "../parts/useNow";
import { useInstances } from "../workloads/queries";
import classes from "./Attention.module.css";
import { isStuck, isUnhealthy, newestFirst, ofAllocation, ofInstance, ofOperation } from "./attentionItems";
import { useAllocationsIn } from "./queries";

const MOST = 12;

/** Whatever a person should look at: failed, degraded, blocked or stuck, each with the next step. */
export function Attention({ project }: { project: string }) {
  const now = useNow();
  const failed = useInstances(project, { status: "failed" });
  const degraded = useInstances(project, { health: "degraded" });
  const unhealthy = useInstances(project, { health: "unhealthy" });
  const blocked = useAllocationsIn(project, "release_failed");
  const active = useAllocationsIn(project, "active");
  const waiting = useOperations(project, { status: "pending" });
  const lists = [failed, degraded, unhealthy, waiting];
  const error = lists.map((one) => one.error).find(Boolean) ?? blocked.error ?? active.error;
  const pending = lists.some((one) => one.pending) || blocked.isPending || active.isPending;
  const troubles = newestFirst(
    [...failed.rows, ...degraded.rows, ...unhealthy.rows]
      .filter((one) => !one.decommissioned_at)
      .map(ofInstance),
    [...(blocked.data ?? []), ...(active.data ?? []).filter(isUnhealthy)].map(ofAllocation),
    waiting.rows.filter((one) => isStuck(one, now)).map(ofOperation),
  );
  return (
    <Panel
      title="Needs attention"
      flush
      aside={troubles.length > MOST ? `${troubles.length} in all` : undefined}
    >
      {error ? (
        <Failed
          error={error}
          retry={() => {
            for (const one of lists) one.retry();
            void blocked.refetch();
            void active.refetch();
          }}
        />
      ) : pending ? (
        <Loading />
      ) : troubles.length === 0 ? (
        <Empty
          icon="check"
          title="All is well"
          text="Nothing has failed, and nothing needs your attention."
        />
      ) : (
        <ul className={classes.troubles}>
          {troubles.slice(0, MOST).map((one) => (
            <li key={one.id} className={classes.trouble}>
              <div className={classes.head}>
                <PageLink to={one.to} className={classes.name}>
                  {one.name}
                </PageLink>
                <StateBadge state={one.state} />
                <span className={classes.since}>
                  <RelativeTime at={one.since} />
                </span>
              </div>
              <p className={classes.message}>{one.message}</p>
              <p className={classes.next}>
                <strong>Next step:</strong> {one.next}
              </p>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
