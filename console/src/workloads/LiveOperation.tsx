import { ActionBar } from "../actions/ActionBar";
import type { Instance } from "../api/types";
import { operationActions } from "../operations/actions";
import { OperationBadge } from "../operations/OperationBadge";
import { isLive, useOperation } from "../operations/queries";
import { OperationProgress, Steps } from "../operations/Steps";
import { PageLink } from "../parts/PageLink";
import { Panel } from "../parts/Panel";
import { labelOf } from "../parts/states";

/** What is being done to the whole workload now, step by step. */
export function LiveOperation({
  instance,
  nameOf,
}: {
  instance: Instance;
  nameOf: (member: string) => string;
}) {
  const { data: operation } = useOperation(instance.project_id, instance.operation_id);
  if (!instance.operation_id || !operation || !isLive(operation)) return null;
  return (
    <Panel
      title={`${labelOf(operation.kind)} in progress`}
      aside={
        <>
          <OperationBadge operation={operation} />
          <PageLink to={`/operations/${operation.id}`}>Details</PageLink>
          <ActionBar
            resource={operation}
            name={operation.kind}
            allowed={operation.allowed_actions}
            table={operationActions}
          />
        </>
      }
    >
      <div className="stack">
        {operation.reason && <p className="dim">{operation.reason}</p>}
        <OperationProgress operation={operation} />
        <Steps steps={operation.steps} nameOf={nameOf} />
      </div>
    </Panel>
  );
}
