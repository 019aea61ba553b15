import type { Listing } from "../api/pages";
import type { InstanceSummary } from "../api/types";
import { Empty, Failed, Loading } from "../parts/Loaded";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { StateBadge } from "../parts/StateBadge";
import { toneOf } from "../parts/states";

/** Whatever a person should look at, each with what to do next. */
export function Attention({ instances }: { instances: Listing<InstanceSummary> }) {
  const troubled = instances.rows.filter((one) => worrying(one));
  return (
    <Panel title="Needs attention">
      {instances.error ? (
        <Failed error={instances.error} retry={instances.retry} />
      ) : instances.pending ? (
        <Loading />
      ) : troubled.length === 0 ? (
        <Empty icon="check" title="All is well" />
      ) : (
        <ul>
          {troubled.map((one) => (
            <li key={one.id}>
              <PageLink to={`/workloads/${one.id}`}>{one.name}</PageLink> <StateBadge state={one.health} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

export function worrying(one: InstanceSummary): boolean {
  return (
    one.decommissioned_at === null &&
    [one.status, one.health].some((state) => ["bad", "warn"].includes(toneOf(state)))
  );
}
