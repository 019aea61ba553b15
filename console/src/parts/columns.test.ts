import { expect, test } from "vitest";
import { countColumn, enabledColumn, endedColumn, textColumn, timeColumn, unsorted } from "./columns";

const row = { name: "eight", count: 8, disabled: true, ended: null, made: "2026-01-01T00:00:00Z" };
type Row = typeof row;

test("a column is sorted by what it shows, unless it is told otherwise", () => {
  const name = textColumn<Row>("name", "Name", (one) => one.name);
  expect([name.cell(row), name.value?.(row)]).toEqual(["eight", "eight"]);
  const count = countColumn<Row>(
    "count",
    "Count",
    (one) => one.count,
    "4rem",
    (one) => `${one.count} of 9`,
  );
  expect([count.cell(row), count.value?.(row)]).toEqual(["8 of 9", 8]);
});

test("what is not there is sorted as nothing, and not as a word", () => {
  expect(textColumn<Row>("none", "None", () => undefined).value?.(row)).toBeNull();
  expect(endedColumn<Row>((one) => one.ended, "revoked").value?.(row)).toBeNull();
});

test("columns have the width of their kind, and text that of the table", () => {
  const text = textColumn<Row>("name", "Name", (one) => one.name);
  const time = timeColumn<Row>("made", "Made", (one) => one.made);
  expect([text.width, time.width, enabledColumn<Row>().width]).toEqual([undefined, "5.5rem", "7rem"]);
});

test("numbers stand at the end, and an unsorted column keeps everything but its value", () => {
  const count = unsorted(countColumn<Row>("count", "Count", (one) => one.count));
  expect(count).toMatchObject({ key: "count", header: "Count", width: "5rem", align: "end" });
  expect(count).not.toHaveProperty("value");
});
