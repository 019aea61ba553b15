import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Instance, Operation } from "../api/types";
import { operationActions } from "../operations/actions";
import { workloadActions } from "../workloads/actions";
import { memberActions } from "../workloads/memberActions";
import { type ActionTable, offered } from "./spec";

const contract = JSON.parse(readFileSync("../contract/openapi.json", "utf8")) as {
  paths: Record<string, Record<string, { operationId?: string }>>;
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

test("what ends or destroys something asks with its name", () => {
  const actions = workloadActions({} as Instance);
  expect(actions.instance_decommission?.danger).toBe(true);
  expect(actions.instance_stop?.danger).toBe(true);
  expect(memberActions({}, false).remove?.danger).toBe(true);
  expect(operationActions.operation_force?.danger).toBe(true);
});
