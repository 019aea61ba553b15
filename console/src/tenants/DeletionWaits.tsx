import type { Deletion } from "../api/types";
import { useSession } from "../app/session";
import { ProblemPanel } from "../parts/ProblemPanel";
import { exactTime } from "../parts/time";
import { useDeletions } from "./queries";

/** The deletions that cannot go on, of one tenant or of all: why, and what an operator can do. */
export function DeletionWaits({ tenant }: { tenant?: string }) {
  const { user } = useSession();
  const isOperator = user.roles.some((one) => one.role.startsWith("platform_"));
  const { rows } = useDeletions(isOperator);
  const waiting = rows.filter((one) => one.wait && (!tenant || one.tenant_id === tenant));
  return waiting.map((one) => <DeletionWait key={one.id} deletion={one} />);
}

export function DeletionWait({ deletion }: { deletion: Deletion }) {
  const { wait } = deletion;
  if (!wait) return null;
  return (
    <ProblemPanel
      tone={deletion.stuck ? "bad" : "warn"}
      title={`The deletion of ${placeOf(deletion)} ${deletion.stuck ? "is stuck" : "waits"}, without progress since ${exactTime(wait.since)}`}
      problem={{ code: wait.stage, message: wait.why, next_step: wait.next_step }}
    />
  );
}

function placeOf(one: Deletion): string {
  const tenant = one.tenant_slug ?? one.tenant_id;
  return one.project_id
    ? `the project ${tenant}/${one.project_slug ?? one.project_id}`
    : `the tenant ${tenant}`;
}
