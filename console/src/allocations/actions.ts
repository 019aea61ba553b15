// What a button for an action on an allocation says, asks and does.
import { type ActionTable, REASON, REASON_FORM } from "../actions/spec";
import { api, body } from "../api/client";
import { thenStale } from "../api/stale";
import type { Allocation } from "../api/types";

type Of = Pick<Allocation, "id" | "project_id">;

function at(one: Of) {
  return { path: { project_id: one.project_id, allocation_id: one.id } };
}

/** Also where an operator looks at it, whose lists are of the platform. */
function told<T>(one: Of, answer: Promise<T>): Promise<T> {
  return thenStale(
    answer,
    ["allocations", one.project_id],
    ["allocations", "platform"],
    ["nodes", "platform"],
  );
}

export function nameOf(one: Allocation): string {
  return one.name ?? one.id;
}

export const ALLOCATION_ACTIONS: ActionTable<Allocation> = {
  allocation_retry_release: {
    label: "Retry release",
    primary: true,
    says: () => "Deprovision, wipe and the proof of the wipe, once more from the beginning.",
    run: (one) =>
      told(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/allocations/{allocation_id}/retry-release", {
            params: at(one),
          }),
        ),
      ),
    done: "The release is tried again",
  },
  allocation_force_cleanup: {
    label: "Force clean-up",
    danger: true,
    says: () =>
      "Gives the GPUs back without a proof that they are clean, on your word. The allocation is recorded as not verified for ever.",
    form: {
      type: "object",
      required: ["reason", "evidence"],
      properties: {
        reason: REASON,
        evidence: {
          type: "string",
          minLength: 10,
          maxLength: 4000,
          "x-ui": {
            label: "Evidence",
            help: "What was checked on the host, how, and by whom.",
            multiline: true,
          },
        },
      },
    },
    run: (one, values) =>
      told(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/allocations/{allocation_id}/force-cleanup", {
            params: at(one),
            body: { reason: String(values.reason), evidence: String(values.evidence) },
          }),
        ),
      ),
    done: "Freed without proof",
  },
  allocation_replace: {
    label: "Replace",
    says: () =>
      "Claims the same GPUs elsewhere and releases this allocation, both or neither. Whatever is on it is wiped.",
    form: { type: "object", properties: { reason: REASON } },
    run: (one, values) =>
      told(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/allocations/{allocation_id}/replace", {
            params: at(one),
            body: values.reason ? { reason: String(values.reason) } : {},
          }),
        ),
      ),
    follow: (answer) => ({ to: `/allocations/${(answer as Allocation).id}` }),
    done: "The replacement is on its way",
  },
  host_report_create: {
    label: "Report broken",
    says: () =>
      "Tells the operators that the host does not work. When you release it, they look at it before anybody gets it again.",
    form: REASON_FORM,
    run: (one, values) =>
      told(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/allocations/{allocation_id}/host-reports", {
            params: at(one),
            body: { reason: String(values.reason) },
          }),
        ),
      ),
    done: "Reported",
  },
  allocation_release: {
    label: "Release",
    danger: true,
    says: () =>
      "Access ends first, then everything on it is wiped, then the wipe is proven. There is no way back.",
    form: { type: "object", properties: { reason: REASON } },
    run: (one, values) =>
      told(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/allocations/{allocation_id}/release", {
            params: at(one),
            body: values.reason ? { reason: String(values.reason) } : {},
          }),
        ),
      ),
    done: "Release begun",
  },
};
