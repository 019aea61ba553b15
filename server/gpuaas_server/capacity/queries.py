"""All SQL of slots, claims and the scheduler's index. SKUs and quotas have files of their own."""

from collections.abc import Sequence
from datetime import datetime

import orjson

from gpuaas_server.capacity.rows import OUT_OF_USE, ClaimedSlot, HostSlot, SlotCount, SlotDevices, SlotRow, SlotUse
from gpuaas_server.capacity.scheduler import Placement
from gpuaas_server.kernel.database import Connection, refuse_on
from gpuaas_server.kernel.deferred_writes import DeferredWrites
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import (
    columns_of,
    fetch_all,
    fetch_optional,
    fetch_value,
    fetch_values,
)

_SLOT_COLUMNS = columns_of(SlotRow)
_REPLACED = (
    "(s.gpu_model, s.gpu_uuid, s.nvme_device, s.vf)"
    " IS DISTINCT FROM (EXCLUDED.gpu_model, EXCLUDED.gpu_uuid, EXCLUDED.nvme_device, EXCLUDED.vf)"
)
# Whoever is root on the host could say that a drive is not there, so that nobody erases it: what was approved stands.
_IN_USE = "s.status NOT IN ('discovered', 'available', 'disabled')"


async def node_capacity_upsert(connection: Connection, node_id: str, eligible: bool) -> None:
    await connection.execute(
        "INSERT INTO node_capacity (node_id, eligible) VALUES (%s, %s)"
        " ON CONFLICT (node_id) DO UPDATE SET eligible = EXCLUDED.eligible",
        (node_id, eligible),
    )


async def node_capacity_ensure(connection: Connection, node_id: str) -> None:
    """Make sure that a new node has its row, and lock it. It is not eligible until `nodes` says so."""
    await connection.execute(
        "INSERT INTO node_capacity (node_id, eligible) VALUES (%s, false) ON CONFLICT (node_id) DO NOTHING", (node_id,)
    )
    await node_lock(connection, node_id)


async def node_wipe_grade_set(connection: Connection, node_id: str, grade: str) -> None:
    """Set the best grade that the node can prove, and lock its row."""
    await connection.execute("UPDATE node_capacity SET wipe_grade = %s WHERE node_id = %s", (grade, node_id))


async def node_erase_drives_set(connection: Connection, node_id: str, erase: bool) -> None:
    """Set whether a wipe erases the node's drives, and lock its row."""
    await connection.execute("UPDATE node_capacity SET erase_drives = %s WHERE node_id = %s", (erase, node_id))


async def node_known(connection: Connection, node_id: str) -> bool:
    cursor = await connection.execute("SELECT 1 FROM node_capacity WHERE node_id = %s", (node_id,))
    return await cursor.fetchone() is not None


async def node_lock(connection: Connection, node_id: str) -> None:
    """Lock a node. Every change of its slots outside the scheduler does: two refits of a node must not overtake each other."""
    await connection.execute("SELECT 1 FROM node_capacity WHERE node_id = %s FOR UPDATE", (node_id,))


async def nodes_lock(connection: Connection, node_ids: Sequence[str]) -> None:
    """Lock several nodes in the order of their ids, in which everybody waits for nodes."""
    await connection.execute(
        "SELECT 1 FROM node_capacity WHERE node_id = ANY(%s) ORDER BY node_id FOR UPDATE", (list(node_ids),)
    )


async def refit(connection: Connection, node_ids: Sequence[str]) -> None:
    """Write the index of these nodes anew. Caller must hold their locks: else what another is taking would be free in it."""
    await connection.execute("SELECT refit_nodes(%s)", (list(node_ids),))


async def refit_model(connection: Connection, gpu_model: str) -> None:
    """Refit every node with this model, after a change of a SKU changed the sizes that are offered."""
    node_ids = await fetch_values(
        connection, str, "SELECT DISTINCT node_id FROM node_resource_slots WHERE gpu_model = %s", (gpu_model,)
    )
    await nodes_lock(connection, node_ids)
    await refit(connection, node_ids)


async def slots_upsert(
    connection: Connection, node_id: str, rows: Sequence[tuple[object, ...]], now: datetime
) -> list[SlotDevices]:
    """Record an inventory. It is advisory: a known device keeps its status and gets new facts; a new one is `discovered`. While
    a slot is in use, its drive and network function stay what they were. The answer says what is on record now.
    """
    columns = [list(column) for column in zip(*rows, strict=True)]
    await slots_vanish(connection, node_id)  # so that devices may swap their indexes, or leave theirs to another
    return await fetch_all(
        connection,
        SlotDevices,
        "INSERT INTO node_resource_slots AS s (id, node_id, slot_index, gpu_model, gpu_uuid, memory_mib, pci_address,"
        " numa_node, nvlink_group, nvme_device, iommu_group, vf, status, created_at)"
        " SELECT u.*, 'discovered', %s FROM unnest(%s::text[], %s::text[], %s::smallint[], %s::text[], %s::text[],"
        " %s::int[], %s::text[], %s::smallint[], %s::text[], %s::text[], %s::int[], %s::jsonb[]) u"
        " ON CONFLICT (node_id, pci_address) DO UPDATE SET slot_index = EXCLUDED.slot_index,"
        " gpu_uuid = EXCLUDED.gpu_uuid, memory_mib = EXCLUDED.memory_mib, numa_node = EXCLUDED.numa_node,"
        " nvlink_group = EXCLUDED.nvlink_group, iommu_group = EXCLUDED.iommu_group, present = true,"
        f" nvme_device = CASE WHEN {_IN_USE} THEN s.nvme_device ELSE EXCLUDED.nvme_device END,"
        f" vf = CASE WHEN {_IN_USE} THEN s.vf ELSE EXCLUDED.vf END, gpu_model = EXCLUDED.gpu_model,"
        # Another GPU, drive or network function in an approved place: somebody has to look at it, at the latest when it
        # is free.
        f" status = CASE WHEN s.status = 'available' AND {_REPLACED} THEN 'discovered' ELSE s.status END,"
        f" approved_at = CASE WHEN {_REPLACED} THEN NULL ELSE s.approved_at END"
        f" RETURNING {columns_of(SlotDevices, 's')}",
        [now, *columns],
    )


async def slots_vanish(connection: Connection, node_id: str) -> None:
    await connection.execute("UPDATE node_resource_slots SET present = false WHERE node_id = %s", (node_id,))


async def slot_list(connection: Connection, node_id: str) -> list[SlotRow]:
    return await fetch_all(
        connection,
        SlotRow,
        f"SELECT {_SLOT_COLUMNS} FROM node_resource_slots WHERE node_id = %s ORDER BY slot_index",
        (node_id,),
    )


async def slots_of_nodes(connection: Connection, node_ids: Sequence[str]) -> list[SlotUse]:
    """Return the GPUs that are present, with the allocation that has each. For platform scopes."""
    return await fetch_all(
        connection,
        SlotUse,
        "SELECT s.id, s.node_id, s.slot_index, s.status, s.status_reason, s.gpu_model, c.allocation_id"
        " FROM node_resource_slots s LEFT JOIN allocation_resource_claims c ON c.node_id = s.node_id"
        " AND c.released_at IS NULL AND (c.kind = 'node_exclusive' OR c.slot_id = s.id)"
        " WHERE s.node_id = ANY(%s) AND s.present ORDER BY s.node_id, s.slot_index",
        (list(node_ids),),
    )


async def nodes_with_slots(connection: Connection, status: str, page: PageRequest) -> list[str]:
    """Return nodes that have a slot in this status, newest first. Rare states have an index; of others a page is soon full."""
    rare = f" AND status IN {OUT_OF_USE}" if status in OUT_OF_USE else ""
    return await fetch_values(
        connection,
        str,
        f"SELECT DISTINCT node_id FROM node_resource_slots WHERE status = %s AND present{rare}"
        " AND node_id < coalesce(%s, 'zzz') ORDER BY node_id DESC LIMIT %s",
        (status, page.after, page.rows),
    )


async def slots_beside(connection: Connection, allocation_id: str, node_id: str) -> list[HostSlot]:
    """Return the GPUs of the node, and which of them the allocation has, or had when it ended."""
    return await fetch_all(
        connection,
        HostSlot,
        f"SELECT {_SLOT_COLUMNS}, EXISTS (SELECT FROM allocation_resource_claims c WHERE c.allocation_id = %s"
        " AND c.node_id = s.node_id AND (c.kind = 'node_exclusive' OR c.slot_id = s.id)) AS claimed"
        " FROM node_resource_slots s WHERE node_id = %s ORDER BY slot_index",
        (allocation_id, node_id),
    )


async def slot_node(connection: Connection, slot_id: str) -> str | None:
    return await fetch_value(connection, str, "SELECT node_id FROM node_resource_slots WHERE id = %s", (slot_id,))


async def slot_lock(connection: Connection, slot_id: str) -> SlotRow | None:
    return await fetch_optional(
        connection, SlotRow, f"SELECT {_SLOT_COLUMNS} FROM node_resource_slots WHERE id = %s FOR UPDATE", (slot_id,)
    )


async def slots_approve(
    connection: Connection, node_id: str, slot_ids: Sequence[str] | None, shape: str, by: str, now: datetime
) -> list[SlotRow]:
    return await fetch_all(
        connection,
        SlotRow,
        "UPDATE node_resource_slots SET status = 'available', status_reason = NULL, capacity_shape = %s,"
        " approved_at = %s, approved_by = %s, generation = generation + 1"
        " WHERE node_id = %s AND status = 'discovered' AND present AND (%s::text[] IS NULL OR id = ANY(%s))"
        f" RETURNING {_SLOT_COLUMNS}",
        (shape, now, by, node_id, slot_ids, slot_ids),
    )


async def slot_status_set(connection: Connection, slot_id: str, status: str, reason: str | None) -> SlotRow | None:
    return await fetch_optional(
        connection,
        SlotRow,
        "UPDATE node_resource_slots SET status = %s, status_reason = %s, generation = generation + 1 WHERE id = %s"
        f" RETURNING {_SLOT_COLUMNS}",
        (status, reason, slot_id),
    )


async def slot_counts(connection: Connection, node_ids: Sequence[str]) -> list[SlotCount]:
    return await fetch_all(
        connection,
        SlotCount,
        "SELECT node_id, status, count(*) FROM node_resource_slots WHERE node_id = ANY(%s) AND present"
        " GROUP BY node_id, status",
        (list(node_ids),),
    )


async def claimed_nodes(connection: Connection, node_ids: Sequence[str]) -> set[str]:
    """Return the nodes with live claims, whether or not their hosts still report the GPUs. For platform scopes."""
    found = await fetch_values(
        connection,
        str,
        "SELECT DISTINCT node_id FROM allocation_resource_claims WHERE node_id = ANY(%s) AND released_at IS NULL",
        (list(node_ids),),
    )
    return set(found)


refuse_on(
    [f"allocation_resource_claims_{name}" for name in ("no_overlap", "one_per_node", "one_per_slot")],
    "no_capacity",
    "These GPUs were taken at the same moment; nothing was done. Try again.",
)


def claims_insert(
    later: DeferredWrites,
    tenant_id: str,
    placements: Sequence[tuple[str, Placement]],
    exclusive: bool,
    now: datetime,
) -> None:
    """Claim the placements for their allocations (id, placement). The constraints refuse what overlaps."""
    slot_ids = [slot.id for _, placement in placements for slot in placement.slots]
    claims = [
        {
            "id": new_id("clm"),
            "allocation_id": allocation,
            "node_id": placement.node_id,
            "slot_id": slot.id if slot else None,
        }
        for allocation, placement in placements
        for slot in ((None,) if exclusive else placement.slots)
    ]
    later.call("claim_slots(%s, %s, %s, %s::jsonb)", (tenant_id, now, slot_ids, orjson.dumps(claims).decode()))


_CLAIMED = (
    "FROM allocation_resource_claims c JOIN node_resource_slots s ON s.node_id = c.node_id"
    " AND (c.kind = 'node_exclusive' OR c.slot_id = s.id) WHERE c.allocation_id = ANY(%(allocation_ids)s)"
    # Spelled so that no index of live claims fits: in a young table the planner would walk through all of them.
    " AND coalesce(c.released_at, 'infinity') = 'infinity'"
)


async def claimed_slots(connection: Connection, allocation_ids: Sequence[str]) -> list[ClaimedSlot]:
    return await fetch_all(
        connection,
        ClaimedSlot,
        f"SELECT {columns_of(SlotRow, 's')}, c.allocation_id {_CLAIMED} ORDER BY s.slot_index",
        {"allocation_ids": list(allocation_ids)},
    )


async def claimed_slots_mark(connection: Connection, allocation_id: str, status: str, reason: str | None) -> None:
    """Set the status of the claimed slots. Disabled slots stay disabled; one whose GPU was replaced waits for approval."""
    await connection.execute(
        "UPDATE node_resource_slots SET status_reason = %(reason)s, generation = generation + 1, status = CASE"
        " WHEN %(status)s = 'available' AND approved_at IS NULL THEN 'discovered' ELSE %(status)s END"
        f" WHERE status NOT IN ('disabled', 'discovered') AND id IN (SELECT s.id {_CLAIMED})",
        {"status": status, "reason": reason, "allocation_ids": [allocation_id]},
    )


async def slots_enable_by_reason(connection: Connection, node_id: str, reason: str) -> None:
    await connection.execute(
        "UPDATE node_resource_slots SET status_reason = NULL, generation = generation + 1, status = CASE"
        " WHEN approved_at IS NULL THEN 'discovered' ELSE 'available' END"
        " WHERE node_id = %s AND status = 'disabled' AND status_reason = %s",
        (node_id, reason),
    )


async def claims_end(connection: Connection, allocation_id: str, now: datetime) -> None:
    await connection.execute(
        "UPDATE allocation_resource_claims SET released_at = %s WHERE allocation_id = %s AND released_at IS NULL",
        (now, allocation_id),
    )


async def live_claims(connection: Connection, node_id: str) -> list[str]:
    return await fetch_values(
        connection,
        str,
        "SELECT DISTINCT allocation_id FROM allocation_resource_claims WHERE node_id = %s AND released_at IS NULL"
        " ORDER BY allocation_id",
        (node_id,),
    )
