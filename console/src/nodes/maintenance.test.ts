import { expect, test } from "vitest";
import { windowOf } from "./maintenanceActions";

test("times of the form are the person's own, and travel with a time zone", () => {
  const sent = windowOf({
    starts_at: "2030-03-01T08:00",
    ends_at: "2030-03-01T10:00",
    reason: "kernel update",
  });
  expect(new Date(sent.starts_at).getHours()).toBe(8);
  expect(sent.ends_at).toMatch(/Z$/);
  expect(sent.cordon_from_now).toBe(false);
});
