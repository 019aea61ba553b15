import { expect, test } from "vitest";
import { labelsOf } from "./actions";

test("labels are read line by line, and a value may have an equals sign", () => {
  expect(labelsOf(" rack = r7 \n\nquery=a=b\nbare")).toEqual({ rack: "r7", query: "a=b", bare: "" });
  expect(labelsOf("")).toEqual({});
});
