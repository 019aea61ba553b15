import { useParams } from "@tanstack/react-router";
import { ActionBar } from "../actions/ActionBar";
import type { Operation } from "../api/types";
import { useProject } from "../app/project";
import { KeyValues, Mono, type Pair } from "../parts/KeyValues";
import { Loaded } from "../parts/Loaded";
import { PageHead } from "../parts/PageHead";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { PhaseChart } from "../parts/PhaseChart";
import { Correlation } from "../parts/ProblemPanel";
import { RelativeTime } from "../parts/RelativeTime";
import { labelOf } from "../parts/states";
import { Receipts } from "../receipts/Receipts";
import { memberName, useMembers } from "../workloads/members";
import { useInstance } from "../workloads/queries";
import { operationActions } from "./actions";
import { OperationBadge } from "./OperationBadge";
import { OperationFailure } from "./OperationFailure";
import { OperationTable } from "./OperationTable";
import { isLive, useOperation } from "./queries";
import { RepeatButton } from "./RepeatButton";
import { OperationProgress, Steps } from "./Steps";
import { spansOf } from "./spans";

export function OperationPage() {
  const { operationId } = useParams({ strict: false }) as { operationId: string };
  const project = useProject();
  const query = useOperation(project.id, operationId);
  return (
    <>
      {!query.data && <PageHead title="Operation" />}
      <Loaded query={query}>{(operation) => <Shown operation={operation} />}</Loaded>
    </>
  );
}

function Shown({ operation }: { operation: Operation }) {
  const instance = useInstance(operation.project_id, operation.instance_id);
  const members = useMembers(operation.project_id, operation.instance_id, true);
  const nameOf = (id: string) => memberName(members.rows.find((one) => one.id === id)) ?? id;
  const title = `${labelOf(operation.kind)} ${operation.member_id ? nameOf(operation.member_id) : (instance.data?.name ?? "")}`;
  return (
    <>
      <PageHead
        title={title.trim()}
        badges={<OperationBadge operation={operation} />}
        above={
          <>
            <PageLink to="/workloads">Workloads</PageLink> /{" "}
            <PageLink to={`/workloads/${operation.instance_id}`}>
              {instance.data?.name ?? operation.instance_id}
            </PageLink>
          </>
        }
        actions={
          <>
            <ActionBar
              resource={operation}
              name={operation.kind}
              allowed={operation.allowed_actions}
              table={operationActions}
            />
            {instance.data && !operation.failure && (
              <RepeatButton operation={operation} instance={instance.data} />
            )}
          </>
        }
      />
      <div className="stack">
        <OperationFailure operation={operation} instance={instance.data} members={members.rows} />
        <div className="columns">
          <Panel title="Steps">
            <div className="stack">
              <OperationProgress operation={operation} />
              {operation.target !== "bulk" && <Steps steps={operation.steps} nameOf={nameOf} />}
            </div>
          </Panel>
          <Panel title="Duration by phase">
            <PhaseChart spans={spansOf(operation, nameOf)} label="Phases of the operation" />
          </Panel>
        </div>
        {operation.target === "bulk" && (
          <Panel title="Operations per member" flush>
            <OperationTable filter={{ parent_id: operation.id }} nameOf={nameOf} />
          </Panel>
        )}
        <Receipts
          project={operation.project_id}
          filter={{ operation_id: operation.id }}
          nameOf={nameOf}
          hideEmpty
        />
        <Panel title="Details">
          <KeyValues items={facts(operation)} />
        </Panel>
      </div>
    </>
  );
}

function facts(operation: Operation): Pair[] {
  const all: [string, React.ReactNode][] = [
    ["ID", <Mono key="id" text={operation.id} copy="Copy ID" />],
    ["Requested by", operation.requested_by_name],
    ["Requested", <RelativeTime key="at" at={operation.created_at} />],
    ["Reason", operation.reason],
    ["Ended", <RelativeTime key="end" at={operation.finished_at} />],
    ["Deadline", isLive(operation) ? <RelativeTime key="deadline" at={operation.deadline_at} /> : null],
    [
      "Claimed",
      operation.attempt
        ? `${operation.attempt === 1 ? "once" : `${operation.attempt} times`}, last by ${operation.replica ?? "–"}`
        : "not yet",
    ],
    [
      "Parameters",
      Object.keys(operation.parameters).length ? (
        <code key="p">{JSON.stringify(operation.parameters)}</code>
      ) : null,
    ],
    [
      "Part of",
      operation.parent_id ? (
        <PageLink key="parent" to={`/operations/${operation.parent_id}`}>
          the operation on many
        </PageLink>
      ) : null,
    ],
    ["Forced", operation.forced ? `${operation.forced.reason} (not verified)` : null],
    ["Correlation", <Correlation key="c" id={operation.correlation_id} />],
  ];
  return all.filter(([, value]) => value !== null);
}
