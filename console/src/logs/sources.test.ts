import { expect, test } from "vitest";
import type { InstanceMember } from "../api/types";
import { sourcesOf } from "./sources";

function member(
  id: string,
  component_key: string,
  allocation_id: string,
  more: Partial<InstanceMember> = {},
) {
  const known = {
    id,
    component_key,
    ordinal: 0,
    allocation_id,
    status: "ready",
    created_at: "2026-11-18T00:00:00Z",
  };
  return { ...known, ...more } as InstanceMember;
}

test("members that share an allocation have one log, read by the eldest", () => {
  const late = { created_at: "2026-11-18T01:00:00Z" };
  expect(
    sourcesOf([
      member("b", "worker", "alc_1", late),
      member("a", "controller", "alc_1"),
      member("c", "hub", "alc_2"),
    ]),
  ).toEqual([
    { member: "a", name: "worker/0, controller/0" },
    { member: "c", name: "hub/0" },
  ]);
});

test("a member that failed comes first", () => {
  const found = sourcesOf([member("a", "hub", "alc_1"), member("b", "relay", "alc_2", { status: "failed" })]);
  expect(found.map((one) => one.member)).toEqual(["b", "a"]);
});
