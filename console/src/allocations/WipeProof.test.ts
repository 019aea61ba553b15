import { expect, test } from "vitest";
import { checkLines } from "./WipeProof";

test("a check says what came of it and what it relies on", () => {
  const checks = [
    { name: "files", status: "clean", clean: true, examined: 9, relies_on: "baseline" },
    { name: "drives", status: "not_examined", clean: false, examined: 0, relies_on: "kernel" },
    { name: "users", clean: false, examined: 3 },
  ];
  expect(checkLines({ checks })).toEqual([
    ["files", "clean, 9 examined, relies on baseline"],
    ["drives", "not examined, 0 examined, relies on kernel"],
    ["users", "found, 3 examined"],
  ]);
});

test("evidence without checks has no lines", () => {
  expect(checkLines({ clean: false, reason: "host_lost" })).toEqual([]);
});
