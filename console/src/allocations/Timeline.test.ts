import { expect, test } from "vitest";
import type { TimelineEntry } from "../api/types";
import { spansOf } from "./Timeline";

const entry = (more: Partial<TimelineEntry>): TimelineEntry => ({
  at: "2026-01-01T00:00:00Z",
  kind: "state",
  name: "requested",
  status: "left",
  ...more,
});

test("states in which it rests are not drawn, phases on the host are", () => {
  const items = [
    entry({}),
    entry({ name: "active", status: "current" }),
    entry({
      kind: "phase",
      name: "provision/create_user",
      status: "succeeded",
      finished_at: "2026-01-01T00:00:02Z",
    }),
  ];
  expect(spansOf(items).map((span) => span.name)).toEqual(["Requested", "create_user"]);
});
