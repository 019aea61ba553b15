import { expect, test } from "vitest";
import { gpusOverTime, wordsOf } from "./gpusOverTime";

const hour = (n: number) => new Date(n * 3_600_000).toISOString();
const from = 10 * 3_600_000;
const to = 20 * 3_600_000;

test("what was held before the time began counts from its beginning", () => {
  const steps = gpusOverTime([{ created_at: hour(1), ended_at: null, gpu_count: 4 }], from, to);
  expect(steps).toEqual({ times: [from / 1000, to / 1000], gpus: [4, 4] });
});

test("each change is a step, and what ended before does not count", () => {
  const steps = gpusOverTime(
    [
      { created_at: hour(1), ended_at: hour(5), gpu_count: 8 },
      { created_at: hour(12), ended_at: hour(15), gpu_count: 2 },
      { created_at: hour(14), ended_at: null, gpu_count: 1 },
      { created_at: hour(30), ended_at: null, gpu_count: 1 },
    ],
    from,
    to,
  );
  expect(steps.times.map((at) => at / 3600)).toEqual([10, 12, 14, 15, 20]);
  expect(steps.gpus).toEqual([0, 2, 3, 1, 1]);
  expect(wordsOf(steps)).toBe("1 GPUs are allocated now; at most 3 and at least 0 in this time.");
});

test("nothing held is a line at nought", () => {
  expect(gpusOverTime([], from, to).gpus).toEqual([0, 0]);
});
