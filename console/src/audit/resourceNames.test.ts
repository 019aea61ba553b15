import { expect, test } from "vitest";
import type { AuditRecord } from "../api/types";
import { recordName } from "./resourceNames";

const NAMES = new Map([
  ["ins_1", "nightly"],
  ["alc_1", "train-0"],
]);

function record(resource_id: string | null, details: Record<string, unknown> = {}): AuditRecord {
  return { resource_id, details } as unknown as AuditRecord;
}

test("a record says by name what it is about, from the lists or from its own details", () => {
  expect(recordName(record("ins_1"), NAMES)).toBe("nightly");
  expect(recordName(record("apv_1", { slug: "echo", version: "0.2.0" }), NAMES)).toBe("echo 0.2.0");
  expect(recordName(record("op_1", { kind: "deploy", instance: "ins_1" }), NAMES)).toBe("Deploy nightly");
  expect(recordName(record("grt_1", { on: "alc_1" }), NAMES)).toBe("SSH grant on train-0");
  expect(recordName(record("pub_1", { name: "model" }), NAMES)).toBe("model");
});

test("what has no name here is left to its id", () => {
  expect(recordName(record(null), NAMES)).toBeUndefined();
  expect(recordName(record("op_1", { kind: "deploy", instance: "ins_9" }), NAMES)).toBeUndefined();
  expect(recordName(record("grt_1", { on: "alc_9" }), NAMES)).toBeUndefined();
  expect(recordName(record("apv_1"), NAMES)).toBeUndefined();
});
