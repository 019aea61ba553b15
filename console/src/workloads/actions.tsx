// What may be asked of a whole workload. The options of each kind are the app's own, from its manifest.
import { type ActionSpec, type ActionTable, REASON } from "../actions/spec";
import { api, body } from "../api/client";
import { OPERATION_KINDS } from "../api/operationKinds";
import type { Instance, MemberKind, OperationKind } from "../api/types";
import type { Schema } from "../forms/schema";
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
  [Kind in InstanceKind]: (typeof OPERATION_KINDS)[Kind]["has_own_endpoint"] extends true ? never : Kind;
}[InstanceKind];

/** What the table of kinds says of an operation: its name, what it does, and whether it is confirmed. */
export function shownKind(kind: OperationKind) {
  const { name, description, confirmation } = OPERATION_KINDS[kind];
  const label = name.charAt(0).toUpperCase() + name.slice(1);
  return {
    label,
    description: () => (confirmation === null ? description : `${description} ${confirmation}`),
    danger: confirmation !== null,
    done: `${label} requested`,
    follow: followOperation,
  };
}

function verb(kind: Verb, options: Options): ActionSpec<Instance> {
  return {
    ...shownKind(kind),
    form: verbForm(options[kind]),
    run: (one, values) =>
      body(
        api.POST(`/api/v1/projects/{project_id}/instances/{instance_id}/${kind}`, {
          ...path(one),
          body: { options: {}, ...values },
        }),
      ),
  };
}

const isVerb = (kind: OperationKind): kind is Verb =>
  OPERATION_KINDS[kind].target === "instance" && !OPERATION_KINDS[kind].has_own_endpoint;

const policyField = (instance: Instance): Schema => ({
  type: "string",
  enum: ["off", "notify", "auto"],
  default: instance.reconcile_policy,
  "x-ui": {
    label: "Reconcile policy",
    help: "off: do nothing. notify: show it and send an event. auto: request a reconcile, at most three in an hour.",
  },
});

/** An action for each kind of operation on the whole instance; those that end something come last. */
export function workloadActions(instance: Instance, options: Options = {}): ActionTable<Instance> {
  const back = instance.attempted_version ? instance.version : instance.previous_version?.version;
  const kinds = Object.keys(OPERATION_KINDS) as OperationKind[];
  // What this page knows and the table does not: the version to return to, and the obvious next thing.
  const more: { [Kind in Verb]?: Partial<ActionSpec<Instance>> } = {
    deploy: { primary: true },
    start: { primary: true },
    rollback: { label: "Roll back", ...(back && { description: () => `Returns to version ${back}.` }) },
  };
  const verbs = kinds
    .filter(isVerb)
    .map((kind) => [`instance_${kind}`, { ...verb(kind, options), ...more[kind] }] as const);
  const upgrade: ActionSpec<Instance> = {
    ...shownKind("upgrade"),
    Extra: UpgradeVersion,
    form: verbForm(options.upgrade),
    run: (one, values) =>
      body(
        api.POST("/api/v1/projects/{project_id}/instances/{instance_id}/upgrade", {
          ...path(one),
          body: { options: {}, ...values, version: String(values.version ?? "") },
        }),
      ),
  };
  const update: ActionSpec<Instance> = {
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
  };
  return Object.fromEntries<ActionSpec<Instance>>([
    ...verbs.filter(([, spec]) => !spec.danger),
    ["instance_upgrade", upgrade],
    ["instance_update", update],
    ...verbs.filter(([, spec]) => spec.danger),
  ]);
}
