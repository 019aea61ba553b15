import { expect, test } from "vitest";
import type { LogLine } from "../api/types";
import { append, asText, type Entry, isGap, MOST_LINES, matching, prepend } from "./lines";

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
  const gap: Entry = { key: "gap-1", leftOut: 1234 };
  const found = matching([line(1, "Slow request"), gap, line(2, "fast")], "SLOW hub");
  expect(found).toEqual([line(1, "Slow request"), gap]);
});

test("the text to copy says what is missing and what was cut", () => {
  const text = asText([
    { ...line(1), cut: true },
    { key: "g", leftOut: 1234 },
  ]);
  expect(text).toBe("2026-11-18T00:00:00.123456Z echo-hub.service line 1 …\n… 1,234 lines left out");
});
