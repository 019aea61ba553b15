// What a button for planned maintenance says, asks and does.
import { type ActionSpec, type ActionTable, REASON, REASON_FORM } from "../actions/spec";
import { api, body } from "../api/client";
import { invalidateAfter } from "../api/stale";
import type { MaintenanceWindow, Node } from "../api/types";
import type { Values } from "../forms/schema";
import { PLATFORM } from "./queries";

function refetchAfter<T>(answer: Promise<T>): Promise<T> {
  return invalidateAfter(answer, ["nodes", PLATFORM]);
}

function at(one: MaintenanceWindow) {
  return { path: { maintenance_window_id: one.id } };
}

/** The request of a filled-in form, whose times are those of the person's own clock. */
export function windowOf(values: Values) {
  return {
    starts_at: new Date(String(values.starts_at)).toISOString(),
    ends_at: new Date(String(values.ends_at)).toISOString(),
    reason: String(values.reason),
    cordon_from_now: values.cordon_from_now === true,
  };
}

export const planSpec: ActionSpec<Node> = {
  label: "Plan maintenance",
  description: () =>
    "Projects with allocations here are notified now. The node is cordoned when the window begins and uncordoned when it ends.",
  form: {
    type: "object",
    required: ["starts_at", "ends_at", "reason"],
    properties: {
      starts_at: { type: "string", minLength: 1, "x-ui": { label: "From (your time)", moment: true } },
      ends_at: { type: "string", minLength: 1, "x-ui": { label: "Until (your time)", moment: true } },
      reason: { ...REASON, "x-ui": { label: "Reason", help: "Shown to tenants." } },
      cordon_from_now: { type: "boolean", "x-ui": { label: "Cordon the node now" } },
    },
  },
  run: (one, values) =>
    refetchAfter(
      body(
        api.POST("/api/v1/nodes/{node_id}/maintenance-windows", {
          params: { path: { node_id: one.id } },
          body: windowOf(values),
        }),
      ),
    ),
  done: "Planned. The projects are notified",
};

export const WINDOW_ACTIONS: ActionTable<MaintenanceWindow> = {
  maintenance_window_cancel: {
    label: "Cancel",
    description: () => "The projects are notified. A cordon by this window ends.",
    form: REASON_FORM,
    run: (one, values) =>
      refetchAfter(
        body(
          api.POST("/api/v1/maintenance-windows/{maintenance_window_id}/cancel", {
            params: at(one),
            body: { reason: String(values.reason) },
          }),
        ),
      ),
    done: "Cancelled",
  },
  maintenance_window_end: {
    label: "End now",
    description: () => "The node takes new allocations again, unless it is cordoned for another reason.",
    run: (one) =>
      refetchAfter(
        body(api.POST("/api/v1/maintenance-windows/{maintenance_window_id}/end", { params: at(one) })),
      ),
    done: "Ended",
  },
};
