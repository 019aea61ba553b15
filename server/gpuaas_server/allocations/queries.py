"""All SQL of allocations."""

from collections.abc import Sequence
from datetime import datetime

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from gpuaas_server.kernel.database import Connection

COLUMNS = (
    "id, tenant_id, project_id, batch_id, name, sku_id, sku_name, shape, gpu_model, gpu_count, node_id, state,"
    " state_since, deadline_at, failure, phase, attempt, host_generation, access_wanted, access_sent, ssh_address,"
    " ssh_port, ssh_user, baseline_sha256, wipe_evidence, forced, created_by, correlation_id, created_at, active_at,"
    " ended_at, generation, counted"
)


async def allocations_insert(
    connection: Connection, rows: Sequence[dict[str, object]], shared: dict[str, object]
) -> None:
    """New allocations in `requested`, each with its first transition: what differs in `rows`, the rest in `shared`."""
    await connection.execute(
        "WITH made AS (INSERT INTO allocations (id, node_id, name, tenant_id, project_id, batch_id, sku_id, sku_name,"
        " shape, gpu_model, gpu_count, state, state_since, created_by, correlation_id, created_at)"
        " SELECT i, n, a, %(tenant_id)s, %(project_id)s, %(batch_id)s, %(sku_id)s, %(sku_name)s, %(shape)s, %(gpu_model)s,"
        " %(gpu_count)s, 'requested', %(now)s, %(created_by)s, %(correlation_id)s, %(now)s"
        " FROM unnest(%(ids)s::text[], %(nodes)s::text[], %(names)s::text[]) AS u(i, n, a) RETURNING id)"
        " INSERT INTO allocation_transitions (allocation_id, generation, tenant_id, at, state, actor)"
        " SELECT id, 1, %(tenant_id)s, %(now)s, 'requested', %(created_by)s FROM made",
        {
            **shared,
            "ids": [row["id"] for row in rows],
            "nodes": [row["node_id"] for row in rows],
            "names": [row["name"] for row in rows],
        },
    )


async def transitions_insert(
    connection: Connection,
    allocation_ids: Sequence[str],
    generation: int,
    tenant_id: str,
    at: datetime,
    state: str,
    phase: str | None,
    failure: dict[str, object] | None,
    actor: str,
    reason: str | None,
) -> None:
    await connection.execute(
        "INSERT INTO allocation_transitions (allocation_id, generation, tenant_id, at, state, phase, failure, actor, reason)"
        " SELECT a, %s, %s, %s, %s, %s, %s, %s, %s FROM unnest(%s::text[]) a",
        (
            generation,
            tenant_id,
            at,
            state,
            phase,
            None if failure is None else Jsonb(failure),
            actor,
            reason,
            list(allocation_ids),
        ),
    )


async def transition_list(connection: Connection, allocation_id: str) -> list[DictRow]:
    cursor = await connection.execute(
        "SELECT generation, at, state, phase, failure, actor, reason FROM allocation_transitions"
        " WHERE allocation_id = %s ORDER BY generation",
        (allocation_id,),
    )
    return await cursor.fetchall()


async def allocation_show(connection: Connection, project_id: str, allocation_id: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {COLUMNS} FROM allocations WHERE id = %s AND project_id = %s", (allocation_id, project_id)
    )
    return await cursor.fetchone()


async def allocation_lock(connection: Connection, project_id: str, allocation_id: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {COLUMNS} FROM allocations WHERE id = %s AND project_id = %s FOR UPDATE", (allocation_id, project_id)
    )
    return await cursor.fetchone()


async def allocation_load(connection: Connection, allocation_id: str) -> DictRow | None:
    cursor = await connection.execute(f"SELECT {COLUMNS} FROM allocations WHERE id = %s", (allocation_id,))
    return await cursor.fetchone()


async def allocation_list(
    connection: Connection,
    project_id: str | None,
    state: str | None,
    node_id: str | None,
    after: str | None,
    limit: int,
) -> list[DictRow]:
    """Newest first. The clauses are ours; only values come from outside."""
    clauses, values = ["true"], list[object]()
    for clause, value in (
        ("project_id = %s", project_id),
        ("state = %s", state),
        ("node_id = %s", node_id),
        ("id < %s", after),
    ):
        if value is not None:
            clauses.append(clause)
            values.append(value)
    cursor = await connection.execute(
        f"SELECT {COLUMNS} FROM allocations WHERE {' AND '.join(clauses)} ORDER BY id DESC LIMIT %s", [*values, limit]
    )
    return await cursor.fetchall()


async def live_ids_on_node(connection: Connection, node_id: str) -> list[str]:
    cursor = await connection.execute(
        "SELECT id FROM allocations WHERE node_id = %s AND ended_at IS NULL ORDER BY id", (node_id,)
    )
    return [row["id"] for row in await cursor.fetchall()]


async def live_on_node(connection: Connection, node_id: str) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {COLUMNS} FROM allocations WHERE node_id = %s AND ended_at IS NULL ORDER BY id FOR UPDATE", (node_id,)
    )
    return await cursor.fetchall()


async def allocation_change(
    connection: Connection, allocation_id: str, generation: int, changes: dict[str, object]
) -> DictRow | None:
    """Compare-and-set on the generation; None when somebody else changed the allocation since it was read.

    `changes` are columns of ours, chosen by the machine and the service.
    """
    values = {k: Jsonb(v) if isinstance(v, dict) else v for k, v in changes.items()}
    assignments = "".join(f"{column} = %({column})s, " for column in changes)
    cursor = await connection.execute(
        f"UPDATE allocations SET {assignments} generation = generation + 1"
        f" WHERE id = %(id_)s AND generation = %(generation_)s RETURNING {COLUMNS}",
        {**values, "id_": allocation_id, "generation_": generation},
    )
    return await cursor.fetchone()


async def live_ids(connection: Connection, states: Sequence[str]) -> list[str]:
    cursor = await connection.execute(
        "SELECT id FROM allocations WHERE ended_at IS NULL AND state = ANY(%s) ORDER BY id", (list(states),)
    )
    return [row["id"] for row in await cursor.fetchall()]


async def access_want(connection: Connection, allocation_ids: Sequence[str]) -> None:
    """Not a change of generation: the machine compares wanted and sent, nobody's snapshot becomes wrong."""
    await connection.execute(
        "UPDATE allocations SET access_wanted = access_wanted + 1 WHERE id = ANY(%s) AND ended_at IS NULL",
        (list(allocation_ids),),
    )


async def history_remove(connection: Connection, ended_before: datetime, now: datetime, portion: int) -> list[str]:
    """The transitions of allocations that ended before then; the answer names the allocations."""
    cursor = await connection.execute(
        "WITH old AS (UPDATE allocations SET history_removed_at = %s WHERE id = ANY(ARRAY(SELECT id FROM allocations"
        "   WHERE ended_at < %s AND ended_at IS NOT NULL AND history_removed_at IS NULL ORDER BY ended_at LIMIT %s))"
        "   RETURNING id),"
        " gone AS (DELETE FROM allocation_transitions t USING old WHERE t.allocation_id = old.id)"
        " SELECT id FROM old",
        (now, ended_before, portion),
    )
    return [row["id"] for row in await cursor.fetchall()]
