import { expect, test } from "vitest";
import { pauseBefore } from "./backoff";

test("the first try comes soon, later ones within what a person would wait", () => {
  expect(pauseBefore(1, () => 1)).toBeLessThanOrEqual(250);
  for (const attempt of [2, 5, 20, 1000]) expect(pauseBefore(attempt, () => 1)).toBeLessThanOrEqual(10_000);
});

test("those who lost the line together do not come back together", () => {
  expect(pauseBefore(5, () => 0)).not.toBe(pauseBefore(5, () => 1));
});
