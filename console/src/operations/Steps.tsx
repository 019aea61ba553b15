import { Progress } from "@mantine/core";
import type { Operation, OperationStep } from "../api/types";
import { duration, secondsBetween } from "../parts/time";
import { useNow } from "../parts/useNow";
import { isLive } from "./queries";
import classes from "./Steps.module.css";
import { stepName } from "./stepName";

/** How far an operation is: what it says of itself, and each step with its time. */
export function OperationProgress({ operation }: { operation: Operation }) {
  const now = useNow();
  const live = isLive(operation);
  const percent = operation.progress?.percent;
  const since = duration(secondsBetween(operation.created_at, operation.finished_at, now));
  return (
    <div className={classes.progress}>
      <p className={classes.description} aria-live="polite">
        {sentence(operation)} <span className="dim">{since}</span>
      </p>
      {live && (
        <Progress
          value={percent ?? 100}
          animated={percent === null || percent === undefined}
          striped={percent === null || percent === undefined}
          size="sm"
          aria-label={`Progress of ${operation.kind}`}
        />
      )}
    </div>
  );
}

function sentence(operation: Operation): string {
  if (operation.phase === "verifying")
    return "The hosts are being inspected. Their evidence decides the outcome.";
  if (operation.phase === "probing")
    return "The controller is done. The hosts run the readiness probes of the members.";
  if (operation.cancel_requested_at && isLive(operation))
    return "Cancel requested. The controller stops at the next safe point.";
  if (operation.progress?.message) return operation.progress.message;
  const running = operation.steps.filter((step) => step.status === "running");
  if (isLive(operation) && running.length)
    return [...new Set(running.map((step) => stepName(step.name)))].join(", ");
  if (operation.status === "pending") return "Waiting for the app's controller.";
  return isLive(operation) ? "In progress." : `Ended: ${operation.status}.`;
}

export function Steps({ steps, nameOf }: { steps: OperationStep[]; nameOf?: (member: string) => string }) {
  const now = useNow();
  if (steps.length === 0) return <p className="dim">No steps reported yet.</p>;
  return (
    <ol className={classes.steps}>
      {steps.map((step, index) => (
        <li key={index} className={classes.step} data-status={step.status}>
          <span className={classes.mark} aria-hidden="true" />
          <span className={classes.name}>
            {stepName(step.name)}
            {step.member_id && <span className="dim"> · {nameOf?.(step.member_id) ?? step.member_id}</span>}
            <span className="visually-hidden">, {step.status}</span>
            {step.message && <span className={classes.message}>{step.message}</span>}
          </span>
          <span className={classes.time}>
            {duration(secondsBetween(step.started_at, step.finished_at, now))}
          </span>
        </li>
      ))}
    </ol>
  );
}
