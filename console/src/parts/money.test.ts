import { expect, test } from "vitest";
import { money } from "./money";

test("minor units are what the currency says they are", () => {
  expect(money(250, "USD")).toBe("$2.50");
  expect(money(250, "JPY")).toBe("¥250");
});
