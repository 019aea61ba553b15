// What may be asked of members: of one, from its row, or of several that were marked. allowed_actions of a member are kinds.
import { type ActionFormProps, type ActionSpec, type ActionTable, REASON } from "../actions/spec";
import { api, body } from "../api/client";
import { OPERATION_KINDS } from "../api/operationKinds";
import type { Instance, InstanceMember, MemberKind } from "../api/types";
import type { Schema, Values } from "../forms/schema";
import { followOperation, type Options } from "./actions";
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
  const forced: Record<string, Schema> = OPERATION_KINDS[kind].may_take_needed ? { force: FORCE } : {};
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

export function memberActions(options: Options, many: boolean): ActionTable<Chosen> {
  const one = (
    kind: MemberKind,
    label: string,
    description: string,
    more: { danger?: boolean; Extra?: (props: ActionFormProps<Chosen>) => React.ReactNode } = {},
  ) => ({
    label,
    description: () => description,
    form: form(kind, options, many),
    follow: followOperation,
    done: `${label} requested`,
    run: (chosen: Chosen, values: Values) => ask(chosen, kind, values),
    ...more,
  });
  const actions: Record<Exclude<MemberKind, "add">, ActionSpec<Chosen>> = {
    recover: one("recover", "Recover", "Brings the member back to ready."),
    drain: one(
      "drain",
      "Drain",
      "The member takes no new work. Running work ends according to the app's options.",
    ),
    replace: one("replace", "Replace", "Removes the member and adds a new one on another allocation.", {
      danger: true,
      Extra: ReplaceWith,
    }),
    remove: one(
      "remove",
      "Remove",
      "Removes the member from the workload. The host is inspected to prove it.",
      {
        danger: true,
      },
    ),
  };
  return actions;
}

/** A new member: the workload itself says whether there may be one. */
export function addAction(options: Options): ActionTable<Chosen> {
  return {
    member_operation_create: {
      label: "Add members",
      Extra: AddTo,
      form: form("add", options, true),
      follow: followOperation,
      done: "Members requested",
      run: (chosen, values) => ask(chosen, "add", values),
    },
  };
}
