// The ways out of an operation that is stuck.
import { type ActionTable, REASON } from "../actions/spec";
import { api, body } from "../api/client";
import { thenStale } from "../api/stale";
import type { Operation } from "../api/types";

function at(one: Operation) {
  return { path: { project_id: one.project_id, operation_id: one.id } };
}

function told<T>(one: Operation, answer: Promise<T>): Promise<T> {
  return thenStale(
    answer,
    ["operations", "platform"],
    ["receipts", "platform"],
    ["operations", one.project_id],
  );
}

export const STUCK_ACTIONS: ActionTable<Operation> = {
  operation_cancel: {
    label: "Cancel",
    says: () => "Its controller is asked to stop at the next safe place.",
    form: { type: "object", properties: { reason: REASON } },
    run: (one, values) =>
      told(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/operations/{operation_id}/cancel", {
            params: at(one),
            body: values.reason ? { reason: String(values.reason) } : {},
          }),
        ),
      ),
    done: "Cancelling",
  },
  operation_force: {
    label: "Force",
    danger: true,
    says: () => "Ends it on your word. What would have been verified is recorded as not verified for ever.",
    form: { type: "object", required: ["reason"], properties: { reason: { ...REASON, minLength: 3 } } },
    run: (one, values) =>
      told(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/operations/{operation_id}/force", {
            params: at(one),
            body: { reason: String(values.reason) },
          }),
        ),
      ),
    done: "Forced",
  },
};
