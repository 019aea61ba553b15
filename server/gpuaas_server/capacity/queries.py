"""All SQL of slots, claims and the scheduler's index. SKUs and quotas have files of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson
from psycopg import AsyncCursor

from gpuaas_server.capacity.rows import ClaimedSlot, HostSlot, OfferedSlot, SlotCount, SlotDevices, SlotRow, SlotUse
from gpuaas_server.capacity.scheduler import FreeSlot, NodeOffer, Placement, Requirements, Shortage
from gpuaas_server.capacity.slots import OUT_OF_USE
from gpuaas_server.kernel.database import Connection, refuse_on
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.later import Later
from gpuaas_server.kernel.rows import (
    columns_of,
    execute,
    fetch_all,
    fetch_one,
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
    """The GPUs that are present, with the allocation that has each. For platform scopes."""
    return await fetch_all(
        connection,
        SlotUse,
        "SELECT s.id, s.node_id, s.slot_index, s.status, s.status_reason, s.gpu_model, c.allocation_id"
        " FROM node_resource_slots s LEFT JOIN allocation_resource_claims c ON c.node_id = s.node_id"
        " AND c.released_at IS NULL AND (c.kind = 'node_exclusive' OR c.slot_id = s.id)"
        " WHERE s.node_id = ANY(%s) AND s.present ORDER BY s.node_id, s.slot_index",
        (list(node_ids),),
    )


async def nodes_with_slots(connection: Connection, status: str, after: str | None, limit: int) -> list[str]:
    """Nodes that have a slot in this status, newest first. Rare states have an index; of the others a page is soon full."""
    rare = f" AND status IN {OUT_OF_USE}" if status in OUT_OF_USE else ""
    return await fetch_values(
        connection,
        str,
        f"SELECT DISTINCT node_id FROM node_resource_slots WHERE status = %s AND present{rare}"
        " AND node_id < coalesce(%s, 'zzz') ORDER BY node_id DESC LIMIT %s",
        (status, after, limit),
    )


async def slots_beside(connection: Connection, allocation_id: str, node_id: str) -> list[HostSlot]:
    """The GPUs of the node, and which of them the allocation has, or had when it ended."""
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
    """The nodes with live claims, whether or not their hosts still report the GPUs. For platform scopes."""
    found = await fetch_values(
        connection,
        str,
        "SELECT DISTINCT node_id FROM allocation_resource_claims WHERE node_id = ANY(%s) AND released_at IS NULL",
        (list(node_ids),),
    )
    return set(found)


@dataclass(frozen=True, slots=True)
class Offers:
    """Nodes that are locked for this request. `stale`: some could not serve it once they were locked, so others may.

    `misfits`: those of them for which the index still says that they can.
    """

    nodes: list[NodeOffer]
    stale: bool
    misfits: list[str]


_OFFERED = columns_of(OfferedSlot)


async def offers_ask(
    connection: Connection, required: Requirements, size: int, count: int, patient: bool
) -> AsyncCursor[OfferedSlot]:
    """Lock the best nodes that meet the requirements. `offers_read` waits for the answer."""
    return await execute(
        connection,
        OfferedSlot,
        f"SELECT {_OFFERED} FROM offer_nodes(%s::text, %s::text, %s::int, %s::int, %s::boolean, %s::text, %s::boolean)",
        (required.gpu_model, required.shape, size, count, patient, required.wipe_grade, required.erased_drives),
    )


async def offers_ask_by_sku(
    connection: Connection, id_or_name: str, size: int | None, count: int, tenant_id: str
) -> AsyncCursor[OfferedSlot]:
    """As `offers_ask`, before the SKU has been read, and without waiting for locks. What is required is as in `placement`."""
    return await execute(
        connection,
        OfferedSlot,
        f"SELECT {_OFFERED} FROM (SELECT gpu_model, shape, coalesce(%(size)s, gpu_counts[1])::int AS size, CASE"
        " WHEN shape <> 'baremetal' THEN 'inspected'"
        " ELSE greatest(wipe_grade, (SELECT t.wipe_grade FROM tenants t WHERE t.id = %(tenant)s)) END AS grade,"
        " NOT ('drives' = ANY(accept_not_examined)) AS erased FROM skus"
        " WHERE (id = %(sku)s OR name = %(sku)s) AND offered AND coalesce(%(size)s, gpu_counts[1]) = ANY(gpu_counts)) s,"
        " offer_nodes(s.gpu_model, s.shape, s.size, %(count)s::int, false, s.grade, s.erased)",
        {"sku": id_or_name, "size": size, "count": count, "tenant": tenant_id},
    )


async def offers_read(offered: AsyncCursor[OfferedSlot], size: int) -> Offers:
    """The offered nodes, with their free slots."""
    free: dict[str, list[FreeSlot]] = {}
    locked = 0
    for row in await offered.fetchall():
        if row.node_id is None:
            locked = row.slot_index
            continue
        slots = free.setdefault(row.node_id, [])
        if row.slot_id is not None:
            slots.append(FreeSlot(row.slot_id, row.slot_index, row.nvlink_group, row.numa_node))
    nodes = [NodeOffer(node_id, tuple(slots)) for node_id, slots in free.items() if len(slots) >= size]
    misfits = sorted(node_id for node_id, slots in free.items() if len(slots) < size)
    return Offers(nodes, len(nodes) < locked, misfits)


async def offers_begin(connection: Connection) -> None:
    await connection.execute("SAVEPOINT offers")


async def offers_unlock(connection: Connection) -> None:
    """Unlock the offered nodes: a transaction that waits for a lock must hold none, or two would wait for each other."""
    await connection.execute("ROLLBACK TO SAVEPOINT offers")


async def shortage(connection: Connection, required: Requirements, size: int, count: int) -> Shortage:
    """The counts behind a refusal. Each stops at what was requested, so that a refusal costs the same in a large fleet."""
    counted = (
        "(SELECT count(*) FROM (SELECT 1 FROM node_resource_slots s JOIN node_capacity c USING (node_id)"
        " WHERE s.gpu_model = %(model)s AND s.present AND s.capacity_shape IN ('any', %(shape)s)"
        " AND c.wipe_grade >= %(grade)s AND {} LIMIT %(wanted)s) x)"
    )
    fitting = (
        "(SELECT count(*) FROM (SELECT 1 FROM node_fits WHERE gpu_model = %(model)s AND shape = %(shape)s"
        " AND size = %(size)s AND wipe_grade = {} LIMIT %(count)s) x)"
    )
    somehow, proven = fitting.format("'inspected'"), fitting.format("%(grade)s")
    erased = fitting.format("%(grade)s AND (drives_erased OR NOT %(erased)s)")
    free = counted.format(
        "s.status = 'available' AND c.eligible AND s.node_id <> ALL((live_claims_on(ARRAY[s.node_id])).taken_whole)"
    )
    blocked = counted.format("s.status = 'cleanup_blocked'")
    cleaning = counted.format("s.status = 'cleaning' AND c.eligible")
    wanted = size * count
    return await fetch_one(
        connection,
        Shortage,
        f"SELECT %(wanted)s::int AS wanted, {free} AS free, {blocked} AS blocked, {cleaning} AS cleaning,"
        f" {somehow} = %(count)s AND {proven} < %(count)s AS below_grade,"
        f" {proven} = %(count)s AND {erased} < %(count)s AS drives_kept",
        {
            "model": required.gpu_model,
            "shape": required.shape,
            "grade": required.wipe_grade,
            "erased": required.erased_drives,
            "wanted": wanted,
            "size": size,
            "count": count,
        },
    )


refuse_on(
    [f"allocation_resource_claims_{name}" for name in ("no_overlap", "one_per_node", "one_per_slot")],
    "no_capacity",
    "These GPUs were taken at the same moment; nothing was done. Try again.",
)


def claims_insert(
    later: Later,
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
