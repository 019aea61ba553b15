import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Instance, Operation } from "../api/types";
import { operationActions } from "../operations/actions";
import { workloadActions } from "../workloads/actions";
import { addAction, memberActions } from "../workloads/memberActions";
import { type ActionTable, offered } from "./spec";

const contract = JSON.parse(readFileSync("../contract/openapi.json", "utf8")) as {
  paths: Record<string, Record<string, { operationId?: string }>>;
  "x-operation-kinds": { name: string; target: string; description: string; confirmation: string | null }[];
};
const operations = new Set(
  Object.values(contract.paths).flatMap((path) => Object.values(path).map((one) => one.operationId)),
);

const table: ActionTable<object> = {
  thing_start: { label: "Start", run: async () => undefined },
  thing_stop: { label: "Stop", danger: true, run: async () => undefined },
};

test("only what the API allows is offered, in the order of the table", () => {
  expect(offered(table, ["thing_stop", "thing_start"]).map(([name]) => name)).toEqual([
    "thing_start",
    "thing_stop",
  ]);
  expect(offered(table, [])).toEqual([]);
});

test("an action that the table does not know is not offered", () => {
  expect(offered(table, ["thing_explode"])).toEqual([]);
});

test("every action of the tables is an operation of the contract", () => {
  const instance = {} as Instance;
  const known = [
    ...Object.keys(workloadActions(instance)),
    ...Object.keys(operationActions as ActionTable<Operation>),
  ];
  for (const name of known) expect(operations, name).toContain(name);
});

test("every kind of operation has an action with the text of the contract", () => {
  const actions = { ...workloadActions({} as Instance), ...memberActions({}, false), ...addAction({}) };
  for (const kind of contract["x-operation-kinds"]) {
    const name = kind.target === "instance" ? `instance_${kind.name}` : kind.name;
    const action = actions[kind.name === "add" ? "member_operation_create" : name];
    expect(action, kind.name).toBeDefined();
    expect(action?.danger, kind.name).toBe(kind.confirmation !== null);
    expect(action?.description?.({} as never), kind.name).toContain(kind.description);
    expect(action?.description?.({} as never), kind.name).toContain(kind.confirmation ?? "");
  }
});

test("a rollback says the version that it returns to", () => {
  const actions = workloadActions({ previous_version: { version: "1.2.0" } } as Instance);
  expect(actions.instance_rollback?.description?.({} as Instance)).toBe("Returns to version 1.2.0.");
});

test("what ends or destroys something asks with its name", () => {
  const actions = workloadActions({} as Instance);
  expect(actions.instance_decommission?.danger).toBe(true);
  expect(actions.instance_stop?.danger).toBe(true);
  expect(memberActions({}, false).remove?.danger).toBe(true);
  expect(operationActions.operation_force?.danger).toBe(true);
});
