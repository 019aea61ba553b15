import { expect, test } from "vitest";
import { drainStart } from "./actions";

test("a drain begins at the person's time, now, or when the platform's notice is over", () => {
  expect(drainStart({ starts_at: "2030-03-01T08:00" })).toEqual({
    starts_at: new Date(2030, 2, 1, 8).toISOString(),
  });
  const now = Date.parse(drainStart({ now: true, starts_at: "2030-03-01T08:00" }).starts_at ?? "");
  expect(now).toBeLessThanOrEqual(Date.now());
  expect(drainStart({ reason: "kernel update", starts_at: "" })).toEqual({});
});
