import { expect, test } from "vitest";
import { labelOf, toneOf } from "./states";
import { filtered, nextSort, sorted } from "./tableRows";
import { duration, relativeTime } from "./time";

test("durations are as long as a person needs", () => {
  expect([0.04, 0.4, 12.4, 185, 7800, 356_400].map(duration)).toEqual([
    "0.0 s",
    "0.4 s",
    "12 s",
    "3 min 5 s",
    "2 h 10 min",
    "4 d 3 h",
  ]);
});

test("ages are told in the largest unit that fits, before and after now", () => {
  const now = Date.parse("2026-01-01T12:00:00Z");
  expect(relativeTime("2026-01-01T11:59:59Z", now)).toBe("now");
  expect(relativeTime("2026-01-01T11:00:00Z", now)).toBe("1h ago");
  expect(relativeTime("2026-01-01T12:05:00Z", now)).toBe("in 5m");
});

test("a state that is not known yet is shown quietly, in its own words", () => {
  expect([toneOf("half_melted"), labelOf("half_melted")]).toEqual(["quiet", "Half melted"]);
});

const columns = [
  { key: "name", value: (row: { name: string; size: number | null }) => row.name },
  { key: "size", value: (row: { name: string; size: number | null }) => row.size },
];
const rows = [
  { name: "node-10", size: 1 },
  { name: "node-2", size: null },
  { name: "other", size: 3 },
];

test("numbers in names sort as numbers, and what has no value comes last", () => {
  expect(sorted(rows, columns, { key: "name", direction: "ascending" }).map((row) => row.name)).toEqual([
    "node-2",
    "node-10",
    "other",
  ]);
  expect(sorted(rows, columns, { key: "size", direction: "ascending" }).at(-1)?.name).toBe("node-2");
});

test("a filter looks at every column that has a value", () => {
  expect(filtered(rows, columns, "node").map((row) => row.name)).toEqual(["node-10", "node-2"]);
});

test("a third click gives back the API's own order", () => {
  const once = nextSort(null, "name");
  expect(nextSort(nextSort(once, "name"), "name")).toBeNull();
});
