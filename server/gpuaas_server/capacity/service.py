"""Slots and claims. A transaction that changes a slot also refits its node."""

import logging
from collections.abc import Sequence
from dataclasses import field

import orjson

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.capacity import queries, quota_queries
from gpuaas_server.capacity.placement import Claim, PlacementRequest, claim
from gpuaas_server.capacity.quota_queries import stream_quota
from gpuaas_server.capacity.quotas import ArtifactUse, artifact_bytes_exceeded, count_artifacts
from gpuaas_server.capacity.rows import ClaimedSlot, SlotRow
from gpuaas_server.capacity.scheduler import Placement
from gpuaas_server.capacity.schemas import HostGpu, MappedSlot, Slot, SlotApprove, SlotList
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import NOBODY, Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of

__all__ = [
    "ArtifactUse",
    "Claim",
    "ClaimedSlot",
    "DiscoveredSlot",
    "Placement",
    "PlacementRequest",
    "SlotSummary",
    "artifact_bytes_exceeded",
    "claim",
    "claimed_slots",
    "claims_end",
    "count_artifacts",
    "gpus_beside",
    "inventory_apply",
    "live_claims",
    "node_eligibility_set",
    "node_erase_drives_set",
    "node_wipe_grade_set",
    "nodes_with_slots",
    "quota_move",
    "slot_approve",
    "slot_disable",
    "slot_enable",
    "slot_list",
    "slot_map",
    "slot_summary",
    "slots_enable_withheld",
    "slots_mark",
    "stream_quota",
]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DiscoveredSlot:
    """A GPU as an agent's inventory describes it."""

    slot_index: int
    gpu_model: str
    pci_address: str
    gpu_uuid: str | None = None
    memory_mib: int | None = None
    numa_node: int | None = None
    nvlink_group: str | None = None
    nvme_device: str | None = None
    iommu_group: int | None = None
    vf: dict[str, object] | None = None


@dataclass(slots=True)
class SlotSummary:
    """Counts the slots of a node by status."""

    total: int = 0
    by_status: dict[str, int] = field(default_factory=dict)
    claimed: bool = False  # an allocation has some of them, even if the GPUs are gone from the inventory


async def inventory_apply(tx: Tx, node_id: str, slots: Sequence[DiscoveredSlot]) -> bool:
    """Record the inventory of a node. The answer is whether all of it is on record now: while a slot is in use, its devices
    stay as they were.
    """
    await queries.node_capacity_ensure(tx.connection, node_id)
    rows = [
        (
            new_id("slt"),
            node_id,
            slot.slot_index,
            slot.gpu_model,
            slot.gpu_uuid,
            slot.memory_mib,
            slot.pci_address,
            slot.numa_node,
            slot.nvlink_group,
            slot.nvme_device,
            slot.iommu_group,
            None if slot.vf is None else orjson.dumps(slot.vf).decode(),
        )
        for slot in slots
    ]
    recorded = []
    if rows:
        recorded = await queries.slots_upsert(tx.connection, node_id, rows, tx.now)
    else:
        await queries.slots_vanish(tx.connection, node_id)
    await queries.refit(tx.connection, [node_id])
    reported = {slot.pci_address: (slot.nvme_device, slot.vf) for slot in slots}
    return all(reported[row.pci_address] == (row.nvme_device, row.vf) for row in recorded)


async def node_eligibility_set(tx: Tx, node_id: str, eligible: bool) -> None:
    """Set whether the scheduler may use the node: it is alive, not cordoned, not retired."""
    await queries.node_capacity_upsert(tx.connection, node_id, eligible)
    await queries.refit(tx.connection, [node_id])


async def node_wipe_grade_set(tx: Tx, node_id: str, grade: str) -> None:
    """Set the best grade that the node can prove: as a whole it is not offered where a better one is required."""
    await queries.node_wipe_grade_set(tx.connection, node_id, grade)
    await queries.refit(tx.connection, [node_id])


async def node_erase_drives_set(tx: Tx, node_id: str, erase: bool) -> None:
    """Set whether a wipe erases the node's drives: else it is not offered where erased drives are required."""
    await queries.node_erase_drives_set(tx.connection, node_id, erase)
    await queries.refit(tx.connection, [node_id])


async def live_claims(connection: Connection, node_id: str) -> list[str]:
    return await queries.live_claims(connection, node_id)


async def slot_summary(connection: Connection, node_ids: Sequence[str]) -> dict[str, SlotSummary]:
    summaries = {node_id: SlotSummary() for node_id in node_ids}
    for row in await queries.slot_counts(connection, node_ids):
        summary = summaries[row.node_id]
        summary.total += row.count
        summary.by_status[row.status] = row.count
    for node_id in await queries.claimed_nodes(connection, node_ids):
        summaries[node_id].claimed = True
    return summaries


async def slot_list(connection: Connection, node_id: str, caller: Caller = NOBODY) -> SlotList:
    rows = await queries.slot_list(connection, node_id)
    if not rows and not await queries.node_known(connection, node_id):
        raise not_found("node", node_id)
    return SlotList(items=[_slot(row, caller) for row in rows])


async def slot_map(connection: Connection, node_ids: Sequence[str]) -> dict[str, list[MappedSlot]]:
    """Return the state of each GPU of the nodes, and its allocation."""
    found: dict[str, list[MappedSlot]] = {node_id: [] for node_id in node_ids}
    for row in await queries.slots_of_nodes(connection, node_ids):
        found[row.node_id].append(MappedSlot(**fields_of(row)))
    return found


async def nodes_with_slots(connection: Connection, status: str, page: PageRequest) -> list[str]:
    return await queries.nodes_with_slots(connection, status, page)


async def gpus_beside(connection: Connection, allocation_id: str, node_id: str) -> list[HostGpu]:
    """Return the host's GPUs as a tenant may see them: how they are linked, and which are theirs, but not what others do."""
    rows = await queries.slots_beside(connection, allocation_id, node_id)
    return [HostGpu(**fields_of(row)) for row in rows if row.present or row.claimed]


async def slot_approve(tx: Tx, node_id: str, body: SlotApprove, caller: Caller = NOBODY) -> SlotList:
    """Approve all of the named slots, or none. Approving an approved slot is no error."""
    await queries.node_lock(tx.connection, node_id)
    known = {row.id: row for row in await queries.slot_list(tx.connection, node_id)}
    if not known:
        raise not_found("slot on node", node_id)
    for slot_id in body.slot_ids or ():
        if slot_id not in known:
            raise not_found("slot", slot_id)
        slot = known[slot_id]
        if slot.status not in ("discovered", "available") or not slot.present:
            raise Problem("slot_not_approvable", f"Slot {slot_id} is {slot.status}.")
    approved = await queries.slots_approve(
        tx.connection, node_id, body.slot_ids, body.capacity_shape, tx.actor.id, tx.now
    )
    await queries.refit(tx.connection, [node_id])
    ids = sorted(row.id for row in approved)
    await record(tx, AuditEntry("slot_approve", node_id, details={"slots": ids, "shape": body.capacity_shape}))
    await emit(tx, NewEvent("node.slots_approved", node_id, data={"slots": len(ids)}))
    return await slot_list(tx.connection, node_id, caller)


async def slot_disable(tx: Tx, slot_id: str, reason: str, caller: Caller = NOBODY) -> Slot:
    slot = await _lock_slot(tx, slot_id)
    if slot.status in ("claimed", "cleaning"):
        raise Problem("conflict", f"Slot {slot_id} is {slot.status}; release its allocation first.")
    if slot.status == "cleanup_blocked":
        raise Problem(
            "conflict", f"Slot {slot_id} waits for a proven clean-up; retry or force its allocation's release."
        )
    return _slot(await _slot_set(tx, slot_id, "disabled", reason, "slot_disable"), caller)


async def slot_enable(tx: Tx, slot_id: str, caller: Caller = NOBODY) -> Slot:
    slot = await _lock_slot(tx, slot_id)
    if slot.status != "disabled":
        raise Problem("conflict", f"Slot {slot_id} is {slot.status}, not disabled.")
    status = "available" if slot.approved_at else "discovered"
    return _slot(await _slot_set(tx, slot_id, status, None, "slot_enable"), caller)


async def _lock_slot(tx: Tx, slot_id: str) -> SlotRow:
    """Lock the node first, then the slot: this is the scheduler's order, so that no deadlock occurs."""
    node_id = await queries.slot_node(tx.connection, slot_id)
    if node_id is None:
        raise not_found("slot", slot_id)
    await queries.node_lock(tx.connection, node_id)
    slot = await queries.slot_lock(tx.connection, slot_id)
    if slot is None:
        raise not_found("slot", slot_id)
    return slot


async def _slot_set(tx: Tx, slot_id: str, status: str, reason: str | None, action: str) -> SlotRow:
    row = await queries.slot_status_set(tx.connection, slot_id, status, reason)
    if row is None:
        raise not_found("slot", slot_id)
    await queries.refit(tx.connection, [row.node_id])
    await record(tx, AuditEntry(action, slot_id, reason=reason, details={"after": status}))
    return row


def _slot(row: SlotRow, caller: Caller) -> Slot:
    return Slot(**fields_of(row), allowed_actions=identity.allowed_actions(caller, _possible_actions(row.status)))


def _possible_actions(status: str) -> list[str]:
    """Return the actions that the status allows, for any caller; the verbs refuse by the same rule."""
    if status == "disabled":
        return ["slot_enable"]
    return [] if status in ("claimed", "cleaning", "cleanup_blocked") else ["slot_disable"]


async def claimed_slots(connection: Connection, allocation_ids: Sequence[str]) -> dict[str, list[ClaimedSlot]]:
    """Return the slots that each allocation has, by allocation."""
    slots: dict[str, list[ClaimedSlot]] = {}
    for row in await queries.claimed_slots(connection, allocation_ids):
        slots.setdefault(row.allocation_id, []).append(row)
    return slots


async def slots_mark(tx: Tx, allocation_id: str, status: str, reason: str | None = None) -> None:
    await queries.claimed_slots_mark(tx.connection, allocation_id, status, reason)


async def claims_end(tx: Tx, allocation_id: str, node_id: str, withheld: str | None = None) -> None:
    """End the claims of an allocation whose release is proven, or forced: its slots return to the pool. The quota follows.

    `withheld` says why the slots do not return to the pool: they become disabled for that reason.
    """
    await queries.node_lock(tx.connection, node_id)
    await queries.claimed_slots_mark(tx.connection, allocation_id, "disabled" if withheld else "available", withheld)
    await queries.claims_end(tx.connection, allocation_id, tx.now)
    await queries.refit(tx.connection, [node_id])


def quota_move(tx: Tx, scopes: Sequence[str], in_use: int, unproven: int) -> None:
    """Change the GPUs in use and those not proven clean, with the last statement; either change may be negative."""
    quota_queries.gpus_move(tx.later, scopes, in_use, unproven)


async def slots_enable_withheld(tx: Tx, node_id: str, reason: str) -> None:
    """Enable the slots that were disabled for exactly this reason."""
    await queries.node_lock(tx.connection, node_id)
    await queries.slots_enable_by_reason(tx.connection, node_id, reason)
    await queries.refit(tx.connection, [node_id])
