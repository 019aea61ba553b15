// Says early what the API would refuse anyway. The API decides; whatever this does not know, it lets through.
import { kindOf, type Schema, type Values } from "./schema";

/** By path, such as "users.0.name". */
export type Errors = Record<string, string>;

export function check(schema: Schema, value: unknown, path = ""): Errors {
  if (value === undefined || value === "" || value === null) return {};
  switch (kindOf(schema)) {
    case "text":
      return one(path, textError(schema, String(value)));
    case "number":
      return one(path, numberError(schema, value));
    case "choice":
      return one(path, schema.enum?.includes(value) ? undefined : "Choose a value from the list");
    case "choices":
    case "list":
    case "rows":
      return listErrors(schema, value as unknown[], path);
    case "group":
      return groupErrors(schema, value as Values, path);
    default:
      return {};
  }
}

function one(path: string, message: string | undefined): Errors {
  return message ? { [path]: message } : {};
}

function textError(schema: Schema, text: string): string | undefined {
  if (schema.minLength !== undefined && text.length < schema.minLength)
    return `At least ${schema.minLength} characters`;
  if (schema.maxLength !== undefined && text.length > schema.maxLength)
    return `At most ${schema.maxLength} characters`;
  if (schema.pattern && !matches(schema.pattern, text)) return `Must match ${schema.pattern}`;
  if (schema.not?.enum?.includes(text) || (schema.not && schema.not.const === text))
    return `${text} is not allowed here`;
  return undefined;
}

function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return true; // a pattern of another dialect: the API will say
  }
}

function numberError(schema: Schema, value: unknown): string | undefined {
  const number = Number(value);
  if (Number.isNaN(number)) return "Must be a number";
  if (schema.type === "integer" && !Number.isInteger(number)) return "Must be a whole number";
  if (schema.minimum !== undefined && number < schema.minimum) return `At least ${schema.minimum}`;
  if (schema.maximum !== undefined && number > schema.maximum) return `At most ${schema.maximum}`;
  return undefined;
}

function listErrors(schema: Schema, values: unknown[], path: string): Errors {
  const errors: Errors = {};
  if (schema.minItems !== undefined && values.length < schema.minItems)
    errors[path] = `At least ${schema.minItems}`;
  if (schema.maxItems !== undefined && values.length > schema.maxItems)
    errors[path] = `At most ${schema.maxItems}`;
  values.forEach((value, index) => {
    Object.assign(errors, check(schema.items ?? {}, value, `${path}.${index}`));
  });
  return errors;
}

function groupErrors(schema: Schema, values: Values, path: string): Errors {
  const errors: Errors = {};
  const at = (name: string) => (path ? `${path}.${name}` : name);
  for (const name of schema.required ?? []) {
    const value = values[name];
    if (value === undefined || value === "" || value === null) errors[at(name)] = "Required";
  }
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    Object.assign(errors, check(inner, values[name], at(name)));
  }
  return errors;
}
