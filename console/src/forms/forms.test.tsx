import { MantineProvider } from "@mantine/core";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { useState } from "react";
import { afterEach, expect, test } from "vitest";
import { check } from "./check";
import { SchemaForm } from "./SchemaForm";
import { fieldsOf, initialOf, kindOf, type Schema, sentOf, type Values } from "./schema";

afterEach(cleanup);

const SCHEMA: Schema = {
  type: "object",
  required: ["name"],
  properties: {
    name: { type: "string", pattern: "^[a-z]+$", maxLength: 8, "x-ui": { label: "Name of the cluster" } },
    mode: { enum: ["single", "many"], "x-ui": { advanced: true } },
    size: { type: "integer", minimum: 1, maximum: 4, default: 2 },
    confine: { type: "boolean", default: true },
    tags: { type: "array", items: { type: "string" } },
    users: {
      type: "array",
      minItems: 1,
      default: [{ name: "researcher" }],
      items: {
        type: "object",
        required: ["name"],
        properties: { uid: { type: "integer" }, name: { type: "string", not: { enum: ["root"] } } },
      },
    },
    odd: { oneOf: [] } as Schema,
  },
};

test("every schema has an input, and what no input fits is written as JSON", () => {
  const kinds = Object.fromEntries(
    Object.entries(SCHEMA.properties ?? {}).map(([name, one]) => [name, kindOf(one)]),
  );
  expect(kinds).toEqual({
    name: "text",
    mode: "choice",
    size: "number",
    confine: "boolean",
    tags: "list",
    users: "rows",
    odd: "json",
  });
});

test("a form begins with the schema's defaults and with nothing else", () => {
  expect(initialOf(SCHEMA)).toEqual({ size: 2, confine: true, users: [{ name: "researcher" }] });
});

test("what nobody filled in is not sent, and what is false is", () => {
  const values = { name: "", size: null, confine: false, users: [{ name: "a", uid: "" }] };
  expect(sentOf(SCHEMA, values)).toEqual({ confine: false, users: [{ name: "a" }] });
});

test("what was chosen beside the form is sent with it", () => {
  const chosen = { allocation_ids: ["alc_1"], replacements: [{ member_id: "m", allocation_id: "a" }] };
  expect(sentOf(SCHEMA, { ...chosen, name: "" })).toEqual(chosen);
});

test("every fault is named at its place", () => {
  const found = check(SCHEMA, { name: "Not Fit", size: 9, users: [{ name: "root" }, {}] });
  expect(Object.keys(found).sort()).toEqual(["name", "size", "users.0.name", "users.1.name"]);
});

test("a pattern that this browser cannot read refuses nothing: the API decides", () => {
  expect(check({ type: "string", pattern: "(?P<x>a)" }, "b")).toEqual({});
});

test("what is needed comes first, whatever order the schema was stored in", () => {
  expect(fieldsOf(SCHEMA)[0]?.[0]).toBe("name");
});

function Form({ onChange }: { onChange: (values: Values) => void }) {
  const [values, setValues] = useState<Values>(() => initialOf(SCHEMA) as Values);
  const change = (next: Values) => {
    setValues(next);
    onChange(next);
  };
  return (
    <MantineProvider>
      <SchemaForm schema={SCHEMA} values={values} onChange={change} errors={{ name: "Needed" }} />
    </MantineProvider>
  );
}

test("labels are the schema's hints, and typing changes the value", () => {
  let seen: Values = {};
  render(<Form onChange={(values) => (seen = values)} />);
  fireEvent.change(screen.getByLabelText(/Name of the cluster/), { target: { value: "abc" } });
  expect(seen.name).toBe("abc");
  expect(screen.getByText("Needed")).toBeTruthy();
});

test("rows are added and removed", () => {
  let seen: Values = {};
  render(<Form onChange={(values) => (seen = values)} />);
  fireEvent.click(screen.getByRole("button", { name: "Add" }));
  expect(seen.users).toHaveLength(2);
  fireEvent.click(screen.getByRole("button", { name: "Remove Users 1" }));
  expect(seen.users).toHaveLength(1);
});
