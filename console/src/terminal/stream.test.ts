import { expect, test } from "vitest";
import { wordOf } from "./stream";

test("the end of a terminal has a reason, a message and the shell's status", () => {
  expect(
    wordOf('{"type":"ended","reason":"idle","message":"Nothing was typed.","exit_status":null}'),
  ).toEqual({
    type: "ended",
    reason: "idle",
    message: "Nothing was typed.",
    exit_status: null,
  });
});

test("words of a newer server are passed over", () => {
  expect(wordOf('{"type":"weather"}')).toBeNull();
  expect(wordOf("not json")).toBeNull();
});
