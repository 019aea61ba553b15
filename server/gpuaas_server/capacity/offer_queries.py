"""SQL of the scheduler's search: which nodes are offered for a request, and why none is."""

from psycopg import AsyncCursor

from gpuaas_server.capacity.rows import OfferedSlot
from gpuaas_server.capacity.scheduler import FreeSlot, NodeOffer, Requirements, Shortage
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.rows import columns_of, execute, fetch_one


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
    connection: Connection, required: Requirements, size: int, count: int, wait_for_locks: bool
) -> AsyncCursor[OfferedSlot]:
    """Lock the best nodes that meet the requirements. `offers_read` waits for the answer."""
    return await execute(
        connection,
        OfferedSlot,
        f"SELECT {_OFFERED} FROM offer_nodes(%s::text, %s::text, %s::int, %s::int, %s::boolean, %s::text, %s::boolean)",
        (required.gpu_model, required.shape, size, count, wait_for_locks, required.wipe_grade, required.erased_drives),
    )


async def offers_ask_by_sku(
    connection: Connection, id_or_name: str, size: int | None, count: int, tenant_id: str
) -> AsyncCursor[OfferedSlot]:
    """Ask for offers before the SKU has been read, without waiting for locks. The requirements are those of `placement`."""
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
    """Return the offered nodes, with their free slots."""
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
    """Return the counts behind a refusal. Each stops at what was requested, so that a large fleet costs no more."""
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
