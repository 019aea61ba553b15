// What may be asked of members: of one, from its row, or of several that were marked. allowed_actions of a member are kinds.
import { type ActionFormProps, type ActionSpec, type ActionTable, REASON } from "../actions/spec";
import { api, body } from "../api/client";
import { OPERATION_KINDS } from "../api/operationKinds";
import type { Instance, InstanceMember, MemberKind, OperationKind } from "../api/types";
import type { Schema, Values } from "../forms/schema";
import { type Options, shownKind } from "./actions";
import { AddTo, ReplaceWith } from "./MemberAllocations";
import { memberName } from "./members";

/** The members that an operation is about, and the workload that they are of. */
export interface Chosen {
  instance: Instance;
  members: InstanceMember[];
}

const FORCE: Schema = {
  type: "boolean",
  default: false,
  "x-ui": { label: "Force", help: "Also if the app needs this member. Give a reason." },
};

function form(kind: MemberKind, options: Options, many: boolean): Schema {
  const own: Record<string, Schema> = options[kind]?.properties
    ? { options: { ...options[kind], "x-ui": { label: "App options" } } }
    : {};
  const failing: Record<string, Schema> = many
    ? {
        on_failure: {
          enum: ["continue", "stop"],
          default: "continue",
          "x-ui": {
            label: "When one fails",
            help: "continue: run all in parallel. stop: run one after the other and stop at the first failure.",
          },
        },
      }
    : {};
  const forced: Record<string, Schema> = OPERATION_KINDS[kind].may_remove_required_members
    ? { force: FORCE }
    : {};
  return { type: "object", properties: { ...own, ...failing, ...forced, reason: REASON } };
}

function ask({ instance, members }: Chosen, kind: MemberKind, values: Values): Promise<unknown> {
  const fields: readonly string[] = OPERATION_KINDS[kind].fields;
  const aim = fields.includes("targets") ? { targets: members.map((member) => member.id) } : {};
  return body(
    api.POST("/api/v1/projects/{project_id}/instances/{instance_id}/member-operations", {
      params: { path: { project_id: instance.project_id, instance_id: instance.id } },
      body: { kind, on_failure: "continue", force: false, options: {}, ...aim, ...values },
    }),
  );
}

export function namesOf(members: InstanceMember[]): string {
  return members.map(memberName).join(", ");
}

/** The kinds that are about members, in the order in which they are offered: those that end something come last. */
const KINDS = (Object.keys(OPERATION_KINDS) as OperationKind[])
  .filter((kind): kind is MemberKind => OPERATION_KINDS[kind].target === "member" && kind !== "add")
  .sort((a, b) => Number(shownKind(a).danger) - Number(shownKind(b).danger));

/** What a form cannot ask for: the allocations of the new members. */
const CHOICES: { [Kind in MemberKind]?: (props: ActionFormProps<Chosen>) => React.ReactNode } = {
  replace: ReplaceWith,
};

export function memberActions(options: Options, many: boolean): ActionTable<Chosen> {
  return Object.fromEntries(
    KINDS.map((kind): [string, ActionSpec<Chosen>] => [
      kind,
      {
        ...shownKind(kind),
        Extra: CHOICES[kind],
        form: form(kind, options, many),
        run: (chosen, values) => ask(chosen, kind, values),
      },
    ]),
  );
}

/** A new member: the workload itself says whether there may be one. */
export function addAction(options: Options): ActionTable<Chosen> {
  return {
    member_operation_create: {
      ...shownKind("add"),
      label: "Add members",
      Extra: AddTo,
      form: form("add", options, true),
      run: (chosen, values) => ask(chosen, "add", values),
    },
  };
}
