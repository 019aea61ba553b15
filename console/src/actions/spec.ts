// What a button for an action says, asks and does. Whether there is one is in the resource's allowed_actions, and nowhere else.
import type { ComponentType, ReactNode } from "react";
import type { Errors } from "../forms/check";
import type { Schema, Values } from "../forms/schema";

export interface ActionFormProps<T> {
  resource: T;
  values: Values;
  onChange: (values: Values) => void;
  /** By path; what `form` or `check` found, or the API. */
  errors: Errors;
}

export interface ActionSpec<T, A = unknown> {
  label: string;
  /** One sentence about what will happen. */
  description?: (resource: T) => ReactNode;
  /** It ends or destroys something: asks with the thing's name, which is typed. */
  danger?: boolean;
  /** It is the obvious next thing. */
  primary?: boolean;
  /** The schema of the request's body. Fields that it does not have are not shown. */
  form?: Schema;
  /** For what no schema describes: choosing members, allocations, versions. Below it comes `form`. */
  Extra?: ComponentType<ActionFormProps<T>>;
  /** What is wrong with the values of `Extra`, before they are sent. */
  check?: (values: Values) => Errors;
  run: (resource: T, values: Values) => Promise<A>;
  /** The page to open afterwards, such as that of the new operation. */
  follow?: (answer: unknown, resource: T) => { to: string; params?: Record<string, string> } | undefined;
  /** What a person reads when it was accepted. */
  done?: string;
}

/** By operationId, as allowed_actions names them. */
export type ActionTable<T> = Record<string, ActionSpec<T>>;

export const REASON: Schema = {
  type: "string",
  minLength: 3,
  maxLength: 500,
  "x-ui": { label: "Reason", help: "Kept in the audit trail." },
};

/** The form of actions that need a reason. */
export const REASON_FORM: Schema = { type: "object", required: ["reason"], properties: { reason: REASON } };

/** Actions in the order of the table; those that the table does not know are not offered. */
export function offered<T>(table: ActionTable<T>, allowed: readonly string[]): [string, ActionSpec<T>][] {
  const may = new Set(allowed);
  return Object.entries(table).filter(([name]) => may.has(name));
}
