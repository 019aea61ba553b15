import { expect, test } from "vitest";
import { searchOf, wantedOf } from "./search";

test("an address that anybody typed gives only what we know", () => {
  expect(searchOf({ actor: "usr_1", outcome: "maybe", colour: "red", project: "prj_1", action: "" })).toEqual(
    { actor: "usr_1" },
  );
});

test("a correlation id of digits alone is still a text", () => {
  expect(searchOf({ correlation: 12345678 })).toEqual({ correlation: "12345678" });
});

test("local times become moments, and half-typed ones are left out", () => {
  const wanted = wantedOf({ since: "2026-01-02T03:04", before: "2026-", action: "node_drain" });
  expect(wanted).toEqual({ since: new Date("2026-01-02T03:04").toISOString(), action: "node_drain" });
});

test("what failed can be looked for", () => {
  expect(wantedOf(searchOf({ outcome: "failed" }))).toEqual({ outcome: "failed" });
});

test("a source that there is not is left out, and one that there is goes to the API", () => {
  expect(searchOf({ source: "telepathy" })).toEqual({});
  expect(wantedOf(searchOf({ source: "cli" }))).toEqual({ source: "cli" });
});
