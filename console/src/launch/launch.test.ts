import { expect, test } from "vitest";
import type { Artifact } from "../api/types";
import { safeRedirect } from "../login/safeRedirect";
import { toggled } from "./AllocationPicker";
import { asksForArtifacts, withArtifacts } from "./artifactInputs";
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
    "1 allocation for Head",
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

test("an input that names an image is a choice of the project's images", () => {
  const digest = `sha256:${"a".repeat(64)}`;
  const inputs = {
    properties: { image: { type: "string", "x-artifact": "oci" as const }, name: { type: "string" } },
  };
  const found = [
    { kind: "oci", name: "web", digest },
    { kind: "blob", name: "weights", digest: `sha256:${"b".repeat(64)}` },
  ] as Artifact[];
  const made = withArtifacts(inputs, found).properties;
  expect(asksForArtifacts(inputs)).toBe(true);
  expect(made?.image?.enum).toEqual([digest]);
  expect(made?.image?.["x-ui"]?.labels?.[digest]).toBe("web aaaaaaaaaaaa");
  expect(made?.name).toEqual({ type: "string" });
  expect(withArtifacts(inputs, []).properties?.image?.enum).toBeUndefined();
});
