import { type ActionTable, REASON, REASON_FORM } from "../actions/spec";
import { api, body } from "../api/client";
import { thenStale } from "../api/stale";
import type { Operation } from "../api/types";

const path = (one: Operation) => ({ path: { project_id: one.project_id, operation_id: one.id } });

/** Also where an operator looks at it, whose lists are of the platform. */
function told<T>(one: Operation, answer: Promise<T>): Promise<T> {
  return thenStale(
    answer,
    ["operations", one.project_id],
    ["operations", "platform"],
    ["receipts", "platform"],
  );
}

export const operationActions: ActionTable<Operation> = {
  operation_cancel: {
    label: "Cancel",
    says: (one) =>
      one.status === "pending"
        ? "Nobody has begun it: it ends at once."
        : "The controller stops at the next safe place; what it has done so far stays done.",
    form: { type: "object", properties: { reason: REASON } },
    run: (one, values) =>
      told(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/operations/{operation_id}/cancel", {
            params: path(one),
            body: values,
          }),
        ),
      ),
    done: "Cancel asked for",
  },
  operation_force: {
    label: "Force to end",
    danger: true,
    says: () => "It ends on your word. What would have been proven is recorded as not verified, for ever.",
    form: REASON_FORM,
    run: (one, values) =>
      told(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/operations/{operation_id}/force", {
            params: path(one),
            body: { reason: String(values.reason) },
          }),
        ),
      ),
    done: "Forced to end",
  },
};
