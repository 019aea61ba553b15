// What a button for an action on an allocation says, asks and does.
import { type ActionTable, REASON, REASON_FORM } from "../actions/spec";
import { api, body } from "../api/client";
import { invalidateAfter } from "../api/stale";
import type { Allocation } from "../api/types";

type Of = Pick<Allocation, "id" | "project_id">;

function at(one: Of) {
  return { path: { project_id: one.project_id, allocation_id: one.id } };
}

/** Also where an operator looks at it, whose lists are of the platform. */
function refetchAfter<T>(one: Of, answer: Promise<T>): Promise<T> {
  return invalidateAfter(
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
    description: () => "Repeats deprovision, wipe and verification from the beginning.",
    run: (one) =>
      refetchAfter(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/allocations/{allocation_id}/retry-release", {
            params: at(one),
          }),
        ),
      ),
    done: "Release started again",
  },
  allocation_force_cleanup: {
    label: "Force clean-up",
    danger: true,
    description: () =>
      "Frees the GPUs without proof that they are clean. The allocation stays recorded as not verified.",
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
      refetchAfter(
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
    description: () =>
      "Claims the same number of GPUs on another host and releases this allocation, both or neither. All data on it is wiped.",
    form: { type: "object", properties: { reason: REASON } },
    run: (one, values) =>
      refetchAfter(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/allocations/{allocation_id}/replace", {
            params: at(one),
            body: values.reason ? { reason: String(values.reason) } : {},
          }),
        ),
      ),
    follow: (answer) => ({ to: `/allocations/${(answer as Allocation).id}` }),
    done: "Replacement requested",
  },
  host_report_create: {
    label: "Report broken",
    description: () =>
      "Tells the operators that the host does not work. After you release it, they check it before anybody else gets it.",
    form: REASON_FORM,
    run: (one, values) =>
      refetchAfter(
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
    description: () => "Access ends, all data is wiped, and the wipe is verified. This cannot be undone.",
    form: { type: "object", properties: { reason: REASON } },
    run: (one, values) =>
      refetchAfter(
        one,
        body(
          api.POST("/api/v1/projects/{project_id}/allocations/{allocation_id}/release", {
            params: at(one),
            body: values.reason ? { reason: String(values.reason) } : {},
          }),
        ),
      ),
    done: "Release started",
  },
};
