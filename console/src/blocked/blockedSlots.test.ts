import { expect, test } from "vitest";
import type { MappedSlot, NodeSlots } from "../api/types";
import { blockedOf } from "./blockedSlots";

const slot = (
  slot_index: number,
  status: MappedSlot["status"],
  allocation_id: string | null,
): MappedSlot => ({
  id: `slt_${slot_index}`,
  slot_index,
  status,
  status_reason: "wipe_not_proven",
  gpu_model: "H100",
  allocation_id,
});

test("GPUs that one allocation held are one line, and others are not there", () => {
  const node: NodeSlots = {
    id: "nod_1",
    name: "node-1",
    status: "ready",
    cordoned: false,
    slots: [
      slot(0, "cleanup_blocked", "a"),
      slot(1, "available", null),
      slot(2, "cleanup_blocked", "a"),
      slot(3, "cleanup_blocked", "b"),
    ],
  };
  expect(blockedOf(node).map((group) => [group.allocation, group.indexes])).toEqual([
    ["a", [0, 2]],
    ["b", [3]],
  ]);
});
