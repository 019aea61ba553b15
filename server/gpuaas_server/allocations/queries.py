"""All SQL of allocations."""

from collections.abc import Sequence
from datetime import datetime

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from gpuaas_server.kernel.database import Connection

COLUMNS = (
    "id, tenant_id, project_id, batch_id, name, sku_id, sku_name, shape, gpu_model, gpu_count, node_id, state,"
    " state_since, deadline_at, failure, phase, attempt, host_generation, access_wanted, access_sent, ssh_address,"
    " ssh_port, ssh_user, baseline_sha256, release_key_generation, wipe_requirements, wipe_evidence, forced, created_by,"
    " correlation_id,"
    " created_at, active_at, ended_at, generation, counted, unproven, release_by, release_reason"
)
# What the state of its host says about an allocation is derived when it is read, by primary key, in the same statement.
_HOST = (
    "n.lost_since AS host_lost_since, n.cordoned AS host_cordoned, n.draining AS host_draining,"
    " n.maintenance_since AS host_cordoned_since, n.maintenance_reason AS host_cordon_reason,"
    " r.id AS report_id, r.created_at AS reported_at, m.state AS window_state, m.starts_at AS window_starts_at,"
    " m.ends_at AS window_ends_at, m.reason AS window_reason, m.cordoned_at AS window_cordoned_at"
)
_OWN = ", ".join(f"a.{column}" for column in COLUMNS.split(", "))
_FROM = (
    " FROM allocations a LEFT JOIN nodes n ON n.id = a.node_id"
    " LEFT JOIN host_reports r ON r.allocation_id = a.id AND r.cleared_at IS NULL"
    " LEFT JOIN maintenance_windows m ON m.node_id = a.node_id AND (m.state = 'planned' OR m.state = 'active')"
)
_ALLOCATION = f"SELECT {_OWN}, {_HOST}{_FROM}"
# What the machine compares reports of the host with.
_NODE_FACTS = (
    "ARRAY(SELECT x.address FROM node_addresses x WHERE x.node_id = a.node_id) AS node_addresses,"
    " n.key_generation AS node_key_generation"
)

ALLOCATION_INSERT = (
    "INSERT INTO allocations (id, node_id, name, tenant_id, project_id, batch_id, sku_id, sku_name, shape, gpu_model,"
    " gpu_count, state, state_since, created_by, correlation_id, created_at)"
    " SELECT id, node_id, name, tenant_id, project_id, batch_id, sku_id, sku_name, shape, gpu_model, gpu_count,"
    " 'requested', now, created_by, correlation_id, now FROM jsonb_to_recordset(%s::jsonb) AS r(id text, node_id text,"
    " name text, tenant_id text, project_id text, batch_id text, sku_id text, sku_name text, shape text, gpu_model text,"
    " gpu_count int, created_by text, correlation_id text, now timestamptz)"
)

TRANSITION_INSERT = (
    "INSERT INTO allocation_transitions (allocation_id, generation, tenant_id, at, state, phase, failure, actor, reason)"
    " SELECT * FROM jsonb_to_recordset(%s::jsonb) AS r(allocation_id text, generation bigint, tenant_id text,"
    " at timestamptz, state text, phase text, failure jsonb, actor text, reason text)"
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
        f"{_ALLOCATION} WHERE a.id = %s AND a.project_id = %s", (allocation_id, project_id)
    )
    return await cursor.fetchone()


async def allocation_lock(connection: Connection, project_id: str, allocation_id: str) -> DictRow | None:
    cursor = await connection.execute(
        f"{_ALLOCATION} WHERE a.id = %s AND a.project_id = %s FOR UPDATE OF a", (allocation_id, project_id)
    )
    return await cursor.fetchone()


async def allocations_hold(connection: Connection, allocation_ids: Sequence[str]) -> list[DictRow]:
    """For the machine, whoever's they are; nobody changes them until the step is stored."""
    cursor = await connection.execute(
        f"SELECT {_OWN}, {_HOST}, {_NODE_FACTS}{_FROM} WHERE a.id = ANY(%s) ORDER BY a.id FOR UPDATE OF a",
        (list(allocation_ids),),
    )
    return await cursor.fetchall()


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
        ("a.project_id = %s", project_id),
        ("a.state = %s", state),
        ("a.node_id = %s", node_id),
        ("a.id < %s", after),
    ):
        if value is not None:
            clauses.append(clause)
            values.append(value)
    cursor = await connection.execute(
        f"{_ALLOCATION} WHERE {' AND '.join(clauses)} ORDER BY a.id DESC LIMIT %s", [*values, limit]
    )
    return await cursor.fetchall()


async def wipe_policy(connection: Connection, allocation_id: str) -> DictRow:
    """What the SKU and the tenant ask of the wipe now, and what is on record of the host."""
    cursor = await connection.execute(
        "SELECT coalesce(k.wipe_grade, 'inspected') AS sku_grade, coalesce(t.wipe_grade, 'inspected') AS tenant_grade,"
        " coalesce(k.accept_not_examined, '{}') AS accept_not_examined, n.boot_id"
        " FROM allocations a LEFT JOIN skus k ON k.id = a.sku_id LEFT JOIN tenants t ON t.id = a.tenant_id"
        " LEFT JOIN nodes n ON n.id = a.node_id WHERE a.id = %s",
        (allocation_id,),
    )
    row = await cursor.fetchone()
    return row or {}


async def live_ids_on_node(connection: Connection, node_id: str) -> list[str]:
    cursor = await connection.execute(
        "SELECT id FROM allocations WHERE node_id = %s AND ended_at IS NULL ORDER BY id", (node_id,)
    )
    return [row["id"] for row in await cursor.fetchall()]


async def unended_on_nodes(connection: Connection, node_ids: Sequence[str]) -> list[DictRow]:
    cursor = await connection.execute(
        "SELECT id, tenant_id, project_id, node_id, sku_name, gpu_count, state FROM allocations"
        " WHERE node_id = ANY(%s) AND ended_at IS NULL ORDER BY id",
        (list(node_ids),),
    )
    return await cursor.fetchall()


async def live_on_node(connection: Connection, node_id: str) -> list[DictRow]:
    cursor = await connection.execute(
        f"{_ALLOCATION} WHERE a.node_id = %s AND a.ended_at IS NULL ORDER BY a.id FOR UPDATE OF a", (node_id,)
    )
    return await cursor.fetchall()


async def allocation_change(
    connection: Connection, allocation_id: str, generation: int, changes: dict[str, object]
) -> None:
    """For who holds the row's lock. `changes` are columns of ours, chosen by the machine and the service."""
    values = {k: Jsonb(v) if isinstance(v, dict) else v for k, v in changes.items()}
    assignments = "".join(f"{column} = %({column})s, " for column in changes)
    await connection.execute(
        f"UPDATE allocations SET {assignments} generation = generation + 1"
        " WHERE id = %(id_)s AND generation = %(generation_)s",
        {**values, "id_": allocation_id, "generation_": generation},
    )


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
