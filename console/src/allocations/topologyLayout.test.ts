import { expect, test } from "vitest";
import type { HostGpu } from "../api/types";
import { type Box, fittingPicture, pictureOf, wordsOf } from "./topologyLayout";

const gpu = (slot_index: number, more: Partial<HostGpu> = {}): HostGpu => ({
  slot_index,
  claimed: false,
  gpu_model: "H100",
  memory_mib: 81_559,
  pci_address: `0000:0${slot_index}:00.0`,
  numa_node: slot_index < 4 ? 0 : 1,
  nvlink_group: slot_index < 4 ? "a" : "b",
  ...more,
});
const eight = Array.from({ length: 8 }, (_, index) => gpu(index));

const inside = (inner: Box, outer: Box) =>
  inner.x >= outer.x &&
  inner.y >= outer.y &&
  inner.x + inner.width <= outer.x + outer.width &&
  inner.y + inner.height <= outer.y + outer.height;

const apart = (one: Box, other: Box) =>
  one.x + one.width <= other.x ||
  other.x + other.width <= one.x ||
  one.y + one.height <= other.y ||
  other.y + other.height <= one.y;

test.each([
  ["a host of two sockets", eight],
  ["one GPU", [gpu(0)]],
  ["no links known", eight.map((one) => ({ ...one, nvlink_group: null, numa_node: null }))],
  [
    "sixteen in one group",
    Array.from({ length: 16 }, (_, index) => gpu(index, { numa_node: 0, nvlink_group: "a" })),
  ],
])("every GPU is drawn inside its group and apart from the others: %s", (_, gpus) => {
  const picture = pictureOf(gpus);
  const places = picture.numas.flatMap((numa) =>
    numa.links.flatMap((link) => link.gpus.map((place) => ({ numa, link, place }))),
  );
  expect(places).toHaveLength(gpus.length);
  for (const { numa, link, place } of places) {
    expect(inside(place, link) && inside(link, numa)).toBe(true);
    expect(inside(numa, { x: 0, y: 0, width: picture.width, height: picture.height })).toBe(true);
    for (const other of places) if (other.place !== place) expect(apart(place, other.place)).toBe(true);
  }
});

test("a host without GPUs is an empty picture", () => {
  expect(pictureOf([])).toEqual({ width: 0, height: 0, numas: [] });
});

test("the words say which are claimed and how they are linked", () => {
  const mine = eight.map((one) => ({ ...one, claimed: [1, 2, 5].includes(one.slot_index) }));
  expect(wordsOf(mine)).toBe(
    "3 of 8 GPUs of the host: GPU 1, 2 on NUMA node 0; GPU 5 on NUMA node 1, in 2 NVLink groups.",
  );
});

test("on a phone the NUMA nodes go below each other", () => {
  const wide = pictureOf(eight);
  const narrow = pictureOf(eight, wide.width - 1);
  expect(narrow.width).toBeLessThan(wide.width);
  expect(narrow.numas[1]?.y).toBeGreaterThanOrEqual(narrow.numas[0]?.height ?? 0);
  for (const numa of narrow.numas) for (const link of numa.links) expect(inside(link, numa)).toBe(true);
});

test("a picture shrinks a little before it is put in two lines", () => {
  const wide = pictureOf(eight);
  expect(fittingPicture(eight, wide.width * 0.8)).toEqual(wide);
  expect(fittingPicture(eight, wide.width * 0.6).width).toBeLessThan(wide.width);
});
