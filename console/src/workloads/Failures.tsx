import { ActionBar } from "../actions/ActionBar";
import type { Failure, Instance, InstanceMember } from "../api/types";
import { LastLines } from "../logs/LastLines";
import { sourcesOf } from "../logs/sources";
import { PageLink } from "../parts/PageLink";
import { type Explained, ProblemPanel } from "../parts/ProblemPanel";
import { type Options, workloadActions } from "./actions";
import { memberActions } from "./memberActions";
import { memberName } from "./members";

/** So many members are shown with their lines; the table has them all. */
const MOST = 3;
/** What may help after a failure, where the API allows it now. */
const REMEDIES = ["instance_deploy", "instance_start", "instance_repair", "instance_rollback"];

interface Props {
  instance: Instance;
  members: InstanceMember[];
  options: Options;
}

/** What failed, what its log says, and what can be done about it now. Nothing failed: nothing is shown. */
export function Failures({ instance, members, options }: Props) {
  const failed = members.filter((one) => one.status === "failed").slice(0, MOST);
  const alike = failed.filter((one) => isSame(one.failure, instance.failure));
  const others = failed.filter((one) => !alike.includes(one));
  return (
    <>
      {instance.failure && (
        <ProblemPanel problem={{ ...instance.failure, correlation_id: instance.correlation_id }}>
          <ActionBar
            resource={instance}
            name={instance.name}
            allowed={instance.allowed_actions.filter((one) => REMEDIES.includes(one))}
            table={workloadActions(instance, options)}
          />
          {instance.last_operation_id && (
            <PageLink to={`/operations/${instance.last_operation_id}`}>Show the failed operation</PageLink>
          )}
          <MemberLines instance={instance} members={alike} />
        </ProblemPanel>
      )}
      {others.map((one) => (
        <ProblemPanel key={one.id} title={memberName(one) ?? one.id} problem={reasonOf(one)}>
          <ActionBar
            resource={{ instance, members: [one] }}
            name={memberName(one) ?? one.id}
            allowed={one.allowed_actions.filter((kind) => kind === "recover" || kind === "replace")}
            table={memberActions(options, false)}
          />
          <MemberLines instance={instance} members={[one]} />
        </ProblemPanel>
      ))}
    </>
  );
}

/** Once for each allocation, since members that share one share their lines. */
function MemberLines({ instance, members }: { instance: Instance; members: InstanceMember[] }) {
  if (!instance.allowed_actions.includes("log_read")) return null;
  return sourcesOf(members).map((one) => (
    <LastLines
      key={one.member}
      instance={instance}
      member={one.member}
      name={one.name}
      of={instance.last_operation_id}
    />
  ));
}

function isSame(one: Failure | null, other: Failure | null): boolean {
  return one !== null && other !== null && one.code === other.code && one.message === other.message;
}

function reasonOf(member: InstanceMember): Explained {
  const reason = member.failure ?? member.health_reasons[0];
  if (reason) return reason;
  return { code: "failed", message: "The member failed.", next_step: "Recover or replace it." };
}
