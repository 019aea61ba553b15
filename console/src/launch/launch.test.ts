import { expect, test } from "vitest";
import { safeRedirect } from "../login/safeRedirect";
import { toggled } from "./AllocationPicker";
import { missingPlacements, placementsOf } from "./placement";

test("of a component that is one, a choice takes the place of the other", () => {
  expect(toggled(["a"], "b", 1)).toEqual(["b"]);
  expect(toggled(["a"], "b", 9)).toEqual(["a", "b"]);
  expect(toggled(["a", "b"], "a", 9)).toEqual(["b"]);
});

test("what is still to be chosen is said in words", () => {
  const components = [
    { key: "head", display_name: "Head", min: 1, max: 1 },
    { key: "node", min: 2, max: 9 },
  ];
  expect(missingPlacements(components, { node: ["a"] })).toEqual([
    "1 more allocation for Head",
    "1 more allocation for node",
  ]);
  expect(missingPlacements(components, { head: ["a"], node: ["a", "b"] })).toEqual([]);
  expect(placementsOf({ head: ["a"] })).toEqual([{ component_key: "head", allocation_id: "a" }]);
});

test("after the login nobody is sent out of the console", () => {
  for (const to of [
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example",
    undefined,
    "/login?to=/",
  ]) {
    expect(safeRedirect(to)).toBe("/");
  }
  expect(safeRedirect("/workloads?project=prj_1")).toBe("/workloads?project=prj_1");
});
