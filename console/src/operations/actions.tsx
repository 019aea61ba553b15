import { type ActionTable, REASON, REASON_FORM } from "../actions/spec";
import { api, body } from "../api/client";
import { invalidateAfter } from "../api/stale";
import type { Operation } from "../api/types";

const path = (one: Operation) => ({ path: { project_id: one.project_id, operation_id: one.id } });

/** Also where an operator looks at it, whose lists are of the platform. */
function refetchAfter<T>(one: Operation, answer: Promise<T>): Promise<T> {
  return invalidateAfter(
    answer,
    ["operations", one.project_id],
    ["operations", "platform"],
    ["receipts", "platform"],
  );
}

export const operationActions: ActionTable<Operation> = {
  operation_cancel: {
    label: "Cancel",
    description: (one) =>
      one.status === "pending"
        ? "The operation has not begun, so it ends immediately."
        : "The controller stops at the next safe point. Completed steps are not undone.",
    form: { type: "object", properties: { reason: REASON } },
    run: (one, values) =>
      refetchAfter(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/operations/{operation_id}/cancel", {
            params: path(one),
            body: values,
          }),
        ),
      ),
    done: "Cancel requested",
  },
  operation_force: {
    label: "Force end",
    danger: true,
    description: () => "Ends the operation without proof. Its teardown stays recorded as not verified.",
    form: REASON_FORM,
    run: (one, values) =>
      refetchAfter(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/operations/{operation_id}/force", {
            params: path(one),
            body: { reason: String(values.reason) },
          }),
        ),
      ),
    done: "Ended by force",
  },
};
