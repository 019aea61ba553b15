import { ActionBar } from "../actions/ActionBar";
import type { ActionTable } from "../actions/spec";
import type { Allocation } from "../api/types";
import { ProblemPanel } from "../parts/ProblemPanel";
import { RelativeTime } from "../parts/RelativeTime";
import { exactTime } from "../parts/time";
import { ALLOCATION_ACTIONS, nameOf } from "./actions";

type Reason = Allocation["health_reasons"][number];

const TITLES: Record<string, string> = {
  host_lost: "The host is lost",
  host_draining: "The host is being drained",
  host_drain_planned: "The host will be drained",
  host_cordoned: "The host is cordoned",
  maintenance_planned: "Host maintenance is planned",
  maintenance_active: "The host is in maintenance",
  reported_broken: "Reported as broken",
};

/** Notices about the allocation's host, each with its actions. The allocation's own failure is shown elsewhere. */
export function HealthNotices({ allocation }: { allocation: Allocation }) {
  const reasons = allocation.health_reasons.filter((one) => one.code !== allocation.failure?.code);
  return reasons.map((reason) => (
    <ProblemPanel
      key={reason.code}
      tone={allocation.health === "unhealthy" ? "bad" : "warn"}
      title={TITLES[reason.code]}
      problem={reason}
    >
      <Span reason={reason} />
      <ActionBar
        resource={allocation}
        name={nameOf(allocation)}
        allowed={allocation.allowed_actions}
        table={choicesOf(reason)}
      />
    </ProblemPanel>
  ));
}

/** When it began or will begin; or, of what has a plan, from when until when. */
function Span({ reason }: { reason: Reason }) {
  if (!reason.since) return null;
  if (reason.until)
    return (
      <span>
        {exactTime(reason.since)} – {exactTime(reason.until)}
      </span>
    );
  if (Date.parse(reason.since) > Date.now()) return <span>From {exactTime(reason.since)}</span>;
  return (
    <span>
      Since <RelativeTime at={reason.since} />
    </span>
  );
}

function choicesOf(reason: Reason): ActionTable<Allocation> {
  const wanted = new Set(reason.choices.map((one) => `allocation_${one}`));
  return Object.fromEntries(Object.entries(ALLOCATION_ACTIONS).filter(([name]) => wanted.has(name)));
}
