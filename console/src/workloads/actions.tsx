// What may be asked of a whole workload. The options of each kind are the app's own, from its manifest.
import { type ActionSpec, type ActionTable, REASON } from "../actions/spec";
import { api, body } from "../api/client";
import type { OPERATION_KINDS } from "../api/operationKinds";
import type { Instance, MemberKind, OperationKind } from "../api/types";
import type { Schema, Values } from "../forms/schema";
import { UpgradeVersion } from "./UpgradeVersion";

export type Options = Record<string, Schema>;

const DEADLINE: Schema = {
  type: "integer",
  minimum: 1,
  "x-ui": {
    label: "Deadline in seconds",
    help: "The operation expires if it has not ended by then. Default: one hour.",
    advanced: true,
  },
};

/** The form of a verb: the app's options for it, a reason, a deadline. */
export function verbForm(options: Schema | undefined): Schema {
  const own: Record<string, Schema> = options?.properties
    ? { options: { ...options, "x-ui": { label: "App options" } } }
    : {};
  return { type: "object", properties: { ...own, reason: REASON, deadline_seconds: DEADLINE } };
}

const path = (one: Instance) => ({ params: { path: { project_id: one.project_id, instance_id: one.id } } });

/** The long way of a verb is to be watched: its operation. */
export function followOperation(answer: unknown) {
  const operation =
    (answer as { operation?: { id: string }; id?: string }).operation ?? (answer as { id?: string });
  return operation?.id ? { to: `/operations/${operation.id}` } : undefined;
}

type InstanceKind = Exclude<OperationKind, MemberKind>;
/** Operations on the whole instance that need nothing but their kind. */
type Verb = {
  [Kind in InstanceKind]: (typeof OPERATION_KINDS)[Kind]["own_endpoint"] extends true ? never : Kind;
}[InstanceKind];
/** A kind of operation without an action here does not compile. */
type WorkloadActions = Record<`instance_${InstanceKind}` | "instance_update", ActionSpec<Instance>>;

function verb(
  kind: Verb,
  options: Options,
  spec: Omit<ActionSpec<Instance>, "run" | "form">,
): ActionSpec<Instance> {
  return {
    form: verbForm(options[kind]),
    follow: followOperation,
    done: `${spec.label} requested`,
    ...spec,
    run: (one, values) => ask(kind, one, values),
  };
}

function ask(kind: Verb, one: Instance, values: Values): Promise<unknown> {
  const asked = { ...path(one), body: { options: {}, ...values } };
  switch (kind) {
    case "start":
      return body(api.POST("/api/v1/projects/{project_id}/instances/{instance_id}/start", asked));
    case "stop":
      return body(api.POST("/api/v1/projects/{project_id}/instances/{instance_id}/stop", asked));
    case "restart":
      return body(api.POST("/api/v1/projects/{project_id}/instances/{instance_id}/restart", asked));
    case "rollback":
      return body(api.POST("/api/v1/projects/{project_id}/instances/{instance_id}/rollback", asked));
    case "reconcile":
      return body(api.POST("/api/v1/projects/{project_id}/instances/{instance_id}/reconcile", asked));
    case "repair":
      return body(api.POST("/api/v1/projects/{project_id}/instances/{instance_id}/repair", asked));
    case "decommission":
      return body(api.POST("/api/v1/projects/{project_id}/instances/{instance_id}/decommission", asked));
    case "deploy":
      return body(api.POST("/api/v1/projects/{project_id}/instances/{instance_id}/deploy", asked));
  }
}

const policyField = (instance: Instance): Schema => ({
  type: "string",
  enum: ["off", "notify", "auto"],
  default: instance.reconcile_policy,
  "x-ui": {
    label: "Reconcile policy",
    help: "off: do nothing. notify: show it and send an event. auto: request a reconcile, at most three in an hour.",
  },
});

export function workloadActions(instance: Instance, options: Options = {}): ActionTable<Instance> {
  const back = instance.attempted_version ? instance.version : instance.previous_version?.version;
  const actions: WorkloadActions = {
    instance_deploy: verb("deploy", options, {
      label: "Deploy",
      primary: true,
      description: () => "Repeats the deploy from the current state.",
    }),
    instance_start: verb("start", options, { label: "Start", primary: true }),
    instance_repair: verb("repair", options, {
      label: "Repair",
      description: () => "Repairs what does not work.",
    }),
    instance_restart: verb("restart", options, {
      label: "Restart",
      description: () => "Stops and starts all members.",
    }),
    instance_upgrade: {
      label: "Upgrade",
      Extra: UpgradeVersion,
      form: verbForm(options.upgrade),
      follow: followOperation,
      run: (one, values) =>
        body(
          api.POST("/api/v1/projects/{project_id}/instances/{instance_id}/upgrade", {
            ...path(one),
            body: { options: {}, ...values, version: String(values.version ?? "") },
          }),
        ),
    },
    instance_rollback: verb("rollback", options, {
      label: "Roll back",
      description: () => (back ? `Returns to version ${back}.` : "Returns to the previous version."),
    }),
    instance_reconcile: verb("reconcile", options, {
      label: "Reconcile",
      description: () => "Brings all members to the state they should have.",
    }),
    instance_update: {
      label: "Reconcile policy",
      description: () =>
        "What the platform does when members drift. Setting it resumes attempts that had stopped.",
      form: {
        type: "object",
        required: ["reconcile_policy"],
        properties: { reconcile_policy: policyField(instance) },
      },
      done: "Set",
      run: (one, values) =>
        body(
          api.PATCH("/api/v1/projects/{project_id}/instances/{instance_id}", {
            params: { ...path(one).params, header: { "If-Match": `"${one.generation}"` } },
            body: { reconcile_policy: values.reconcile_policy as Instance["reconcile_policy"] },
          }),
        ),
    },
    instance_stop: verb("stop", options, {
      label: "Stop",
      danger: true,
      description: () => "Stops all members. The hosts are inspected to prove it. Files are kept.",
    }),
    instance_decommission: verb("decommission", options, {
      label: "Decommission",
      danger: true,
      description: () =>
        "Removes the workload from all hosts, with a receipt for each. This cannot be undone.",
    }),
  };
  return actions;
}
