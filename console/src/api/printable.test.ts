import { expect, test } from "vitest";
import { printableJson } from "./printable";

function shown(value: unknown): unknown {
  return JSON.parse(printableJson(JSON.stringify(value)));
}

test("escape sequences of a host do not reach a page", () => {
  expect(shown({ message: "\u001b[2Jgone\u009b1m\u202eexe" })).toEqual({ message: "�[2Jgone�1m�exe" });
});

test("ordinary text, lines and written backslashes stay as they are", () => {
  const value = { text: 'Grüße\n\t"quoted" \\u001b \\\\u001b ✓', list: [1, null, "a\\"] };
  expect(shown(value)).toEqual(value);
});
