"""What must hold of slots, claims, quotas and the scheduler's index at any quiet moment, asked of the database itself."""

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from tests_support.fleet import ACTOR
from tests_support.select import select

_HELD = (
    "EXISTS (SELECT 1 FROM allocation_resource_claims c WHERE c.node_id = s.node_id AND c.released_at IS NULL"
    " AND (c.slot_id = s.id OR c.kind = 'node_exclusive'))"
)


async def rows(platform: Platform, query: str, *values: object) -> list[dict[str, object]]:
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, query, values)
        return list(await cursor.fetchall())


async def assert_consistent(platform: Platform) -> None:
    """No slot with two owners, statuses and quota in step with claims, and the index in step with the slots."""
    doubled = await rows(
        platform,
        "SELECT s.id FROM node_resource_slots s JOIN allocation_resource_claims c ON c.node_id = s.node_id"
        " AND (c.slot_id = s.id OR c.kind = 'node_exclusive') WHERE c.released_at IS NULL GROUP BY s.id"
        " HAVING count(*) > 1",
    )
    assert doubled == []
    wrong = await rows(
        platform,
        "SELECT s.id, s.status FROM node_resource_slots s"
        f" WHERE (s.status IN ('claimed', 'cleaning', 'cleanup_blocked')) <> {_HELD}",
    )
    assert wrong == []
    used = await rows(
        platform,
        "SELECT q.scope_id, q.gpus_used FROM quotas q WHERE q.scope_id LIKE 'tnt%%' AND q.gpus_used <>"
        " (SELECT count(*) FROM node_resource_slots s JOIN allocation_resource_claims c ON c.node_id = s.node_id"
        " AND (c.slot_id = s.id OR c.kind = 'node_exclusive')"
        " WHERE c.released_at IS NULL AND c.tenant_id = q.scope_id"
        # A blocked release holds its slots at the platform's expense.
        " AND NOT EXISTS (SELECT 1 FROM allocations a WHERE a.id = c.allocation_id AND NOT a.counted))",
    )
    assert used == []
    unproven = await rows(
        platform,
        "SELECT q.scope_id, q.unproven_gpus FROM quotas q WHERE q.unproven_gpus <> (SELECT coalesce(sum(a.gpu_count), 0)"
        " FROM allocations a WHERE a.unproven AND q.scope_id IN (a.project_id, a.tenant_id))",
    )
    assert unproven == []
    before = await rows(platform, "SELECT * FROM node_fits ORDER BY node_id, gpu_model, shape, size")
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await tx.connection.execute("SELECT refit_nodes(array_agg(node_id)) FROM node_capacity")
    assert before == await rows(platform, "SELECT * FROM node_fits ORDER BY node_id, gpu_model, shape, size")
