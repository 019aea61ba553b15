// Blocked GPUs of a node are grouped by their allocation: one clean-up frees them all.
import type { NodeSlots } from "../api/types";

export interface BlockedGroup {
  id: string;
  node: NodeSlots;
  indexes: number[];
  reason: string | null;
  allocation: string | null;
}

export function blockedOf(node: NodeSlots): BlockedGroup[] {
  const groups = new Map<string, BlockedGroup>();
  for (const slot of node.slots) {
    if (slot.status !== "cleanup_blocked") continue;
    const key = `${slot.allocation_id} ${slot.status_reason}`;
    const group = groups.get(key);
    if (group) group.indexes.push(slot.slot_index);
    else {
      groups.set(key, {
        id: slot.id,
        node,
        indexes: [slot.slot_index],
        reason: slot.status_reason,
        allocation: slot.allocation_id,
      });
    }
  }
  return [...groups.values()];
}
