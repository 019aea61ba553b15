import type { HealthReason, Instance } from "../api/types";
import { Icon } from "../parts/Icon";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { StateBadge } from "../parts/StateBadge";
import classes from "./Health.module.css";

/** Why it is not healthy, and what the platform warns of. Nothing to say: nothing is shown. */
export function Health({ instance, nameOf }: { instance: Instance; nameOf: (member: string) => string }) {
  // On its way it has reasons too: what is done to it says more.
  const own = instance.health === "progressing" ? [] : instance.health_reasons;
  const reasons = distinct([...own, ...instance.flags]);
  if (reasons.length === 0 || instance.decommissioned_at) return null;
  return (
    <Panel
      title="Health"
      aside={
        <>
          <StateBadge state={instance.health} />
          <span>
            since <RelativeTime at={instance.health_since} />
          </span>
        </>
      }
    >
      <ul className={classes.reasons}>
        {reasons.map((reason) => (
          <li key={`${reason.code} ${reason.member_id} ${reason.message}`} className={classes.reason}>
            <Icon name="alert" size={15} />
            <span>
              {concerned(reason).length > 0 && <strong>{concerned(reason).map(nameOf).join(", ")}: </strong>}
              {reason.message} {reason.next_step} <code className={classes.code}>{reason.code}</code>
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function distinct(reasons: HealthReason[]): HealthReason[] {
  const seen = new Map(reasons.map((one) => [`${one.code} ${one.member_id ?? ""} ${one.message}`, one]));
  return [...seen.values()];
}

/** The members that a reason is about. */
function concerned(reason: HealthReason): string[] {
  if (reason.member_ids?.length) return reason.member_ids;
  return reason.member_id ? [reason.member_id] : [];
}
