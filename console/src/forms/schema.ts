// The part of JSON Schema that forms are made of: what app manifests use for inputs and options.
export interface UiHints {
  label?: string;
  help?: string;
  advanced?: boolean;
  placeholder?: string;
  multiline?: boolean;
  /** Options of an enum are shown as words: "TLS CA" for tls_ca. */
  words?: boolean;
  /** How options of an enum are shown, where that is not their value. */
  labels?: Record<string, string>;
  /** A moment in the user's local time: the value has no time zone. */
  moment?: boolean;
}

export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  not?: Schema;
  format?: string;
  "x-ui"?: UiHints;
  /** The value is the digest of an artifact of the project, of this kind. */
  "x-artifact"?: "oci" | "blob";
}

export type Values = Record<string, unknown>;

export type Kind = "text" | "number" | "boolean" | "choice" | "choices" | "list" | "rows" | "group" | "json";

/** Which input fits. What no input fits is written as JSON: nothing of a schema is out of reach. */
export function kindOf(schema: Schema): Kind {
  if (schema.enum?.every((one) => typeof one === "string" || typeof one === "number")) return "choice";
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== "null") : schema.type;
  if (type === "string") return "text";
  if (type === "integer" || type === "number") return "number";
  if (type === "boolean") return "boolean";
  if (type === "object" && schema.properties) return "group";
  if (type !== "array" || !schema.items) return "json";
  const inner = kindOf(schema.items);
  if (inner === "text") return "list";
  if (inner === "choice") return "choices";
  return inner === "group" ? "rows" : "json";
}

export function labelOf(name: string, schema: Schema): string {
  const said = schema["x-ui"]?.label ?? schema.title;
  if (said) return said;
  const words = name.replaceAll(/[_-]+/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function helpOf(schema: Schema): string | undefined {
  return schema["x-ui"]?.help ?? schema.description;
}

/** What a new form begins with: the schema's own defaults, and nothing that it does not say. */
export function initialOf(schema: Schema): unknown {
  if (schema.default !== undefined) return structuredClone(schema.default);
  if (kindOf(schema) !== "group") return undefined;
  const entries = Object.entries(schema.properties ?? {}).map(
    ([name, one]) => [name, initialOf(one)] as const,
  );
  const known = entries.filter(([, value]) => value !== undefined);
  return Object.fromEntries(known);
}

/** The values to send, without empty fields. */
export function sentOf(schema: Schema, value: unknown): unknown {
  if (value === "" || value === null) return undefined;
  if (Array.isArray(value))
    return value.map((one) => sentOf(schema.items ?? {}, one)).filter((one) => one !== undefined);
  if (typeof value === "object" && kindOf(schema) === "group") {
    const entries = Object.entries(value as Values).map(
      ([name, one]) => [name, sentOf(schema.properties?.[name] ?? {}, one)] as const,
    );
    return Object.fromEntries(entries.filter(([, one]) => one !== undefined));
  }
  return value;
}

const SHORT: ReadonlySet<Kind> = new Set<Kind>(["text", "number", "choice", "boolean"]);

/** A stored schema does not keep its order: what is needed comes first, then what is short. */
export function fieldsOf(schema: Schema): [string, Schema][] {
  const rank = ([name, one]: [string, Schema]) =>
    (schema.required?.includes(name) ? 0 : 4) +
    (SHORT.has(kindOf(one)) ? 0 : 2) +
    (kindOf(one) === "boolean" ? 1 : 0);
  return Object.entries(schema.properties ?? {}).sort((one, other) => rank(one) - rank(other));
}
