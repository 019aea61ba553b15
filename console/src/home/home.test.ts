import { expect, test } from "vitest";
import type { Allocation, InstanceSummary, Operation, Sku } from "../api/types";
import { isStuck, newestFirst, ofInstance } from "./attentionItems";
import { costOf } from "./cost";

const HOUR = 3_600_000;

test("cost is price times GPUs of what is active, now and since it became so", () => {
  const skus = [{ id: "s", price_per_gpu_hour_minor: 250, currency: "USD" }] as Sku[];
  const now = 10 * HOUR;
  const allocations = [
    { sku_id: "s", gpu_count: 2, active_at: new Date(8 * HOUR).toISOString(), ended_at: null },
    { sku_id: "s", gpu_count: 8, active_at: null, ended_at: null },
    { sku_id: "gone", gpu_count: 8, active_at: new Date(0).toISOString(), ended_at: null },
  ] as Allocation[];
  expect(costOf(allocations, skus, now)).toEqual([{ currency: "USD", perHour: 500, sinceStart: 1000 }]);
});

test("what is failed and unhealthy at once is one trouble, with the failure's next step", () => {
  const broken = {
    id: "ins_1",
    name: "b",
    status: "failed",
    health: "unhealthy",
    status_since: "2026-01-01T00:00:00Z",
    health_since: "2026-01-01T00:00:00Z",
    health_reasons: [],
    failure: { message: "m", next_step: "n", code: "c", retryable: true },
  } as unknown as InstanceSummary;
  const troubles = newestFirst([broken, broken].map(ofInstance));
  expect(troubles).toHaveLength(1);
  expect(troubles[0]?.next).toBe("n");
});

test("work that nobody takes within a minute is stuck", () => {
  const waiting = {
    status: "pending",
    children: null,
    status_since: new Date(0).toISOString(),
  } as unknown as Operation;
  expect(isStuck(waiting, 30_000)).toBe(false);
  expect(isStuck(waiting, 90_000)).toBe(true);
});
