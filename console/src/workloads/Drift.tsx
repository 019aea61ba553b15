import type { Instance } from "../api/types";
import { KeyValues } from "../parts/KeyValues";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { RelativeTime } from "../parts/RelativeTime";
import { StateBadge } from "../parts/StateBadge";
import classes from "./Health.module.css";

/** Members that are not as they should be, and what the platform does about it. No drift: nothing is shown. */
export function Drift({ instance, nameOf }: { instance: Instance; nameOf: (member: string) => string }) {
  const drift = instance.drift;
  if (!drift) return null;
  return (
    <Panel
      title="Drift"
      aside={
        <>
          <StateBadge state={drift.state} />
          <span>
            since <RelativeTime at={drift.noticed_at} />
          </span>
        </>
      }
    >
      <div className={classes.reason}>
        <span>
          <strong>{drift.members.map((one) => nameOf(one.member_id)).join(", ")}:</strong> {drift.message}{" "}
          {drift.next_step}
        </span>
      </div>
      {instance.reconcile_policy === "auto" && (
        <KeyValues
          items={[
            ["Next attempt", drift.next_attempt_at && <RelativeTime key="n" at={drift.next_attempt_at} />],
            ["Attempts in the last hour", String(drift.attempts.length)],
            ["Attempts left", String(drift.attempts_left)],
            [
              "Last attempt",
              drift.operation_id && (
                <PageLink key="o" to={`/operations/${drift.operation_id}`}>
                  {drift.operation_id}
                </PageLink>
              ),
            ],
          ]}
        />
      )}
    </Panel>
  );
}
