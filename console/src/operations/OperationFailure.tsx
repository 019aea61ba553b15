import { ActionBar } from "../actions/ActionBar";
import type { Instance, InstanceMember, Operation } from "../api/types";
import { LastLines } from "../logs/LastLines";
import { ProblemPanel } from "../parts/ProblemPanel";
import { memberActions } from "../workloads/memberActions";
import { memberName } from "../workloads/members";
import { RepeatButton } from "./RepeatButton";
import { stepName } from "./stepName";

/** What a host writes of a failure may come a little later, and its clock may be behind. */
const GRACE_MS = 10_000;

interface Props {
  operation: Operation;
  instance: Instance | undefined;
  members: InstanceMember[];
}

/** Which step of an operation failed, where, what the member's log says, and what can be done about it now. */
export function OperationFailure({ operation, instance, members }: Props) {
  if (!operation.failure) return null;
  const step = operation.steps.findLast((one) => one.status === "failed");
  const member = members.find((one) => one.id === (step?.member_id ?? operation.member_id));
  const name = memberName(member);
  const reads = instance?.allowed_actions.includes("log_read") && operation.status !== "cancelled";
  return (
    <ProblemPanel
      {...(step
        ? {
            title: [`Step “${stepName(step.name)}”`, name && `of ${name}`, "failed"]
              .filter(Boolean)
              .join(" "),
          }
        : {})}
      problem={{ ...operation.failure, correlation_id: operation.correlation_id }}
      tone={operation.status === "cancelled" ? "warn" : "bad"}
    >
      {instance && <RepeatButton operation={operation} instance={instance} />}
      {instance && member && member.removed_at === null && (
        <ActionBar
          resource={{ instance, members: [member] }}
          name={name ?? member.id}
          allowed={member.allowed_actions.filter((kind) => kind === "recover" || kind === "replace")}
          table={memberActions({}, false)}
        />
      )}
      {instance && reads && member && member.removed_at === null && (
        <LastLines
          instance={instance}
          member={member.id}
          name={name ?? member.id}
          until={shortlyAfter(operation.finished_at)}
          of={operation.id}
        />
      )}
    </ProblemPanel>
  );
}

function shortlyAfter(at: string | null): string | undefined {
  return at === null ? undefined : new Date(Date.parse(at) + GRACE_MS).toISOString();
}
