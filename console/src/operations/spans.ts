import type { Operation } from "../api/types";
import type { Span } from "../parts/PhaseChart";
import { stepName } from "./stepName";

/** Waiting for a controller, each step, and the look at the hosts: all of an operation's time. */
export function spansOf(operation: Operation, nameOf: (member: string) => string): Span[] {
  const { created_at, claimed_at, finished_at } = operation;
  const waiting: Span = {
    key: "waiting",
    name: "waiting for the controller",
    from: created_at,
    to: operation.steps[0]?.started_at ?? (operation.attempt ? claimed_at : null) ?? finished_at,
    status: "quiet",
  };
  const steps = operation.steps.map(
    (step, index): Span => ({
      key: String(index),
      name: step.member_id ? `${stepName(step.name)} · ${nameOf(step.member_id)}` : stepName(step.name),
      from: step.started_at,
      to: step.finished_at ?? finished_at,
      status: step.status,
      detail: step.message,
    }),
  );
  return [waiting, ...steps, ...verifying(operation)];
}

function verifying(operation: Operation): Span[] {
  const last = operation.steps.at(-1)?.finished_at;
  const name = operation.phase === "probing" ? "waiting for readiness" : "inspecting the hosts";
  if ((operation.phase !== "verifying" && operation.phase !== "probing") || !last) return [];
  return [{ key: operation.phase, name, from: last, to: operation.finished_at, status: operation.phase }];
}
