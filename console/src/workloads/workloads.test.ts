import { expect, test } from "vitest";
import type { Instance, InstanceMember, TimelineEvent } from "../api/types";
import { accessLines } from "./accessLines";
import { BOX, layoutOf, MOST } from "./memberLayout";
import { phasesOf } from "./phases";

function member(component_key: string, ordinal: number): InstanceMember {
  return { id: `${component_key}${ordinal}`, component_key, ordinal, status: "ready" } as InstanceMember;
}

const COMPONENTS = [
  { key: "relay", min: 0, max: 9, depends_on: ["hub"] },
  { key: "hub", min: 1, max: 1 },
];

test("who others depend on stands before them", () => {
  const layout = layoutOf(COMPONENTS, [member("relay", 2), member("hub", 1)]);
  expect(layout.columns.map((column) => column.key)).toEqual(["hub", "relay"]);
  expect(layout.edges.map(({ from, to }) => [from.id, to.id])).toEqual([["hub1", "relay2"]]);
});

test("components that depend on each other in a circle end the walk", () => {
  const circle = [
    { key: "a", min: 1, max: 1, depends_on: ["b"] },
    { key: "b", min: 1, max: 1, depends_on: ["a"] },
  ];
  expect(layoutOf(circle, []).columns).toHaveLength(2);
});

test("members of a component that the manifest does not know are drawn too", () => {
  expect(layoutOf([], [member("stranger", 1)]).columns[0]?.members).toHaveLength(1);
});

test("no two boxes overlap, and what is too much is counted", () => {
  const members = Array.from({ length: MOST + 5 }, (_, index) => member("hub", index));
  const [column] = layoutOf([{ key: "hub", min: 1, max: 99 }], members).columns;
  const tops = (column?.members ?? []).map((one) => one.y);
  expect(tops.every((top, index) => index === 0 || top - (tops[index - 1] ?? 0) >= BOX.height)).toBe(true);
  expect(column?.hidden).toBe(5);
});

test("an access bundle of any shape becomes lines to copy", () => {
  expect(
    accessLines({ login: "ssh a@b", endpoints: { status: "h:1" }, commands: ["one", "two"], none: null }),
  ).toEqual([
    ["login", "ssh a@b"],
    ["endpoints · status", "h:1"],
    ["commands 1", "one"],
    ["commands 2", "two"],
  ]);
});

test("phases are the states that it was in, one after the other; the last goes on", () => {
  const events = [
    { id: "1", type: "instance.created", at: "2026-01-01T00:00:00Z" },
    { id: "2", type: "operation.claimed", at: "2026-01-01T00:00:01Z" },
    { id: "3", type: "instance.starting", at: "2026-01-01T00:00:02Z" },
    { id: "4", type: "instance.start_completed", at: "2026-01-01T00:00:09Z" },
    { id: "5", type: "instance.healthy", at: "2026-01-01T00:00:09Z" },
  ] as TimelineEvent[];
  const spans = phasesOf(events, { decommissioned_at: null } as Instance);
  expect(spans.map((span) => [span.name, span.to])).toEqual([
    ["created", "2026-01-01T00:00:02Z"],
    ["starting", "2026-01-01T00:00:09Z"],
    ["running", null],
  ]);
});
