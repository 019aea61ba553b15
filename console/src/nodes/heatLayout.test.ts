import { expect, test } from "vitest";
import type { NodeSlots } from "../api/types";
import { heatMapOf, STATUSES, sentenceOf, stepFrom } from "./heatLayout";

const node = (index: number, gpus: number): NodeSlots => ({
  id: `nod_${index}`,
  name: `node-${index}`,
  status: "ready",
  cordoned: false,
  slots: Array.from({ length: gpus }, (_, slot_index) => ({
    id: `slt_${index}_${slot_index}`,
    slot_index,
    status: STATUSES[(index + slot_index) % STATUSES.length] ?? "available",
    status_reason: null,
    gpu_model: "H100",
    allocation_id: null,
  })),
});

test.each([1, 3, 60, 1250])("%i nodes lie beside each other and inside the picture", (count) => {
  const map = heatMapOf(
    Array.from({ length: count }, (_, index) => node(index, 8)),
    1100,
  );
  expect(map.width).toBeLessThanOrEqual(1100);
  const corners = new Set(map.tiles.map((tile) => `${tile.x},${tile.y}`));
  expect(corners.size).toBe(count);
  for (const tile of map.tiles) {
    expect(tile.x + tile.width).toBeLessThanOrEqual(map.width + 0.01);
    expect(tile.y + tile.height).toBeLessThanOrEqual(map.height + 0.01);
  }
});

test("ten thousand GPUs are six shapes, and each is in one of them", () => {
  const map = heatMapOf(
    Array.from({ length: 1250 }, (_, index) => node(index, 8)),
    1100,
  );
  expect(map.shapes).toHaveLength(6);
  expect(map.shapes.reduce((sum, shape) => sum + shape.count, 0)).toBe(10_000);
  expect(map.shapes.reduce((sum, shape) => sum + shape.path.split("M").length - 1, 0)).toBe(10_000);
});

test("a node on a narrow screen is still drawn, and an empty fleet is an empty picture", () => {
  expect(heatMapOf([node(0, 8)], 10).perLine).toBe(1);
  expect(heatMapOf([], 800).tiles).toEqual([]);
});

test("arrow keys go to the neighbours and stay at the edges", () => {
  expect(stepFrom(5, "ArrowDown", 4, 20)).toBe(9);
  expect(stepFrom(5, "ArrowUp", 4, 20)).toBe(1);
  expect(stepFrom(1, "ArrowUp", 4, 20)).toBe(1);
  expect(stepFrom(19, "ArrowRight", 4, 20)).toBe(19);
  expect(stepFrom(3, "End", 4, 20)).toBe(19);
  expect(stepFrom(3, "x", 4, 20)).toBeNull();
});

test("a node in words has its counts and what is unusual about it", () => {
  expect(sentenceOf({ ...node(0, 2), cordoned: true, status: "lost" })).toBe(
    "node-0: 2 GPUs, 1 claimed, 1 available; lost, cordoned",
  );
});
