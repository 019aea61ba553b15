import { expect, test } from "vitest";
import type { LogLine } from "../api/types";
import { append, asText, byTime, type Entry, type Gap, isGap, MOST_LINES, matching, prepend } from "./lines";

const GAP: Gap = { key: "gap-1", at: "2026-11-18T00:00:00Z", member_id: "mem_1", leftOut: 1234 };

function line(number: number, text = `line ${number}`): LogLine {
  return {
    cursor: `s=1;i=${number.toString(16)}`,
    at: "2026-11-18T00:00:00.123456Z",
    member_id: "mem_1",
    source: "echo-hub.service",
    level: "info",
    text,
    cut: false,
  };
}

test("a line that comes again after a break is shown once", () => {
  const shown = append([line(1), line(2)], [line(2), line(3)]);
  expect(shown.map((one) => !isGap(one) && one.text)).toEqual(["line 1", "line 2", "line 3"]);
});

test("the oldest lines go when there are too many", () => {
  const many = Array.from({ length: MOST_LINES }, (_, n) => line(n));
  const shown = append(many, [line(MOST_LINES)]);
  expect(shown).toHaveLength(MOST_LINES);
  expect(shown[0]).toEqual(line(1));
});

test("older lines come before what is shown", () => {
  expect(prepend([line(2)], [line(1), line(2)])).toEqual([line(1), line(2)]);
});

test("a search leaves lines that have all of its words, and the gaps", () => {
  const found = matching([line(1, "Slow request"), GAP, line(2, "fast")], "SLOW hub");
  expect(found).toEqual([line(1, "Slow request"), GAP]);
});

test("the text to copy says what is missing and what was cut", () => {
  const entries: Entry[] = [{ ...line(1), cut: true }, GAP];
  const text = asText(entries);
  expect(text).toBe("2026-11-18T00:00:00.123456Z echo-hub.service line 1 …\n… 1,234 lines left out");
});

test("lines of several hosts are in the order of time, each with its member's name", () => {
  const at = (second: string, member: string) => ({
    ...line(1),
    at: `2026-11-18T00:00:${second}Z`,
    member_id: member,
  });
  const merged = byTime(
    append([at("01", "mem_1"), at("03.5", "mem_1")], [at("02.25", "mem_2"), at("03", "mem_2")]),
  );
  expect(asText(merged, (id) => ({ mem_1: "hub/0", mem_2: "relay/1" })[id] ?? id).split("\n")).toEqual([
    "2026-11-18T00:00:01Z hub/0 echo-hub.service line 1",
    "2026-11-18T00:00:02.25Z relay/1 echo-hub.service line 1",
    "2026-11-18T00:00:03Z relay/1 echo-hub.service line 1",
    "2026-11-18T00:00:03.5Z hub/0 echo-hub.service line 1",
  ]);
});
