"""All SQL of operations."""

from collections.abc import Sequence
from datetime import datetime

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.json_text import as_json

COLUMNS = (
    "id, tenant_id, project_id, instance_id, app_slug, kind, target, member_id, new_member_id, parent_id, on_failure,"
    " held, status, status_since, phase, status_before, parameters, steps, progress, failure, forced, children, reason,"
    " requested_by, requested_by_name, correlation_id, attempt, controller_id, replica, lease_digest, lease_until,"
    " cancel_requested_at, created_at, claimed_at, finished_at, deadline_at, generation"
)
# The lane: all members for the instance, one for a member, none for a bulk.
OPERATION_INSERT = (
    "INSERT INTO app_operations (id, tenant_id, project_id, instance_id, app_slug, kind, target, member_id,"
    " new_member_id, parent_id, on_failure, held, lane, status, status_since, status_before, parameters, children, reason,"
    " requested_by, requested_by_name, correlation_id, created_at, deadline_at)"
    " SELECT id, tenant_id, project_id, instance_id, app_slug, kind, target, member_id, new_member_id, parent_id,"
    " on_failure, coalesce(held, false),"
    " CASE target WHEN 'instance' THEN int4range(NULL, NULL) WHEN 'member' THEN int4range(ordinal, ordinal, '[]') END,"
    " 'pending', now, status_before, coalesce(parameters, '{}'), children, reason, requested_by, requested_by_name,"
    " correlation_id, now, deadline_at FROM jsonb_to_recordset(%s::jsonb) AS r(id text, tenant_id text,"
    " project_id text, instance_id text, app_slug text, kind text, target text, member_id text, new_member_id text,"
    " parent_id text, on_failure text, held boolean, ordinal int, status_before text, parameters jsonb, children jsonb,"
    " reason text, requested_by text, requested_by_name text, correlation_id text, now timestamptz,"
    " deadline_at timestamptz)"
)


async def operations_insert(connection: Connection, rows: Sequence[dict[str, object]]) -> None:
    await connection.execute(OPERATION_INSERT, (as_json(list(rows)),))


async def operation_show(
    connection: Connection, project_id: str, operation_id: str, apps: Sequence[str] | None = None
) -> DictRow | None:
    """`apps`: those that the caller sees; None for all."""
    cursor = await connection.execute(
        f"SELECT {COLUMNS} FROM app_operations WHERE id = %(id)s AND project_id = %(project)s"
        " AND (%(apps)s::text[] IS NULL OR app_slug = ANY(%(apps)s))",
        {"id": operation_id, "project": project_id, "apps": apps},
    )
    return await cursor.fetchone()


async def operation_instance(connection: Connection, operation_id: str) -> str | None:
    """Whom to lock first."""
    cursor = await connection.execute("SELECT instance_id FROM app_operations WHERE id = %s", (operation_id,))
    row = await cursor.fetchone()
    return str(row["instance_id"]) if row else None


async def operation_lock(connection: Connection, operation_id: str) -> DictRow | None:
    """After its instance is locked."""
    cursor = await connection.execute(f"SELECT {COLUMNS} FROM app_operations WHERE id = %s FOR UPDATE", (operation_id,))
    return await cursor.fetchone()


async def operations_lock(connection: Connection, operation_ids: Sequence[str]) -> list[DictRow]:
    """After their instance is locked. In the order of their ids, so that a reporter is never waited for in a circle."""
    if not operation_ids:
        return []
    cursor = await connection.execute(
        f"SELECT {COLUMNS} FROM app_operations WHERE id = ANY(%s) ORDER BY id FOR UPDATE", (list(operation_ids),)
    )
    return await cursor.fetchall()


async def live_lock(connection: Connection, instance_id: str) -> list[DictRow]:
    """What works, or is to work, on the instance or a member; as operations_lock."""
    cursor = await connection.execute(
        f"SELECT {COLUMNS} FROM app_operations WHERE instance_id = %s AND finished_at IS NULL AND target <> 'bulk'"
        " ORDER BY id FOR UPDATE",
        (instance_id,),
    )
    return await cursor.fetchall()


async def operation_list(
    connection: Connection,
    project_id: str | None,
    instance_id: str | None,
    parent_id: str | None,
    status: str | None,
    after: str | None,
    limit: int,
    apps: Sequence[str] | None = None,
) -> list[DictRow]:
    """Newest first; of one project, or in a platform scope of all. The clauses are ours; only values come from outside."""
    clauses, values = ["true"], list[object]()
    for clause, value in (
        ("project_id = %s", project_id),
        ("instance_id = %s", instance_id),
        ("parent_id = %s", parent_id),
        ("status = %s", status),
        ("app_slug = ANY(%s)", apps),
        ("id < %s", after),
    ):
        if value is not None:
            clauses.append(clause)
            values.append(value)
    cursor = await connection.execute(
        f"SELECT {COLUMNS} FROM app_operations WHERE {' AND '.join(clauses)} ORDER BY id DESC LIMIT %s",
        [*values, limit],
    )
    return await cursor.fetchall()


async def children_of(connection: Connection, parent_id: str) -> list[DictRow]:
    cursor = await connection.execute(
        "SELECT id, status, held FROM app_operations WHERE parent_id = %s ORDER BY id", (parent_id,)
    )
    return await cursor.fetchall()


async def ended_before(connection: Connection, before: datetime, limit: int) -> list[DictRow]:
    """The longest ended first; one that was kept counts from then. Who holds one of them (to force it) is not waited for."""
    cursor = await connection.execute(
        "SELECT id, instance_id, target FROM app_operations WHERE finished_at IS NOT NULL"
        " AND coalesce(kept_at, finished_at) < %s ORDER BY coalesce(kept_at, finished_at) LIMIT %s FOR UPDATE SKIP LOCKED",
        (before, limit),
    )
    return await cursor.fetchall()


async def operations_delete(connection: Connection, operation_ids: Sequence[str]) -> None:
    await connection.execute("DELETE FROM app_operations WHERE id = ANY(%s)", (list(operation_ids),))


async def childless_delete(connection: Connection, parent_ids: Sequence[str]) -> None:
    """Bulk operations none of whose children is there any more."""
    await connection.execute(
        "DELETE FROM app_operations p WHERE p.id = ANY(%s)"
        " AND NOT EXISTS (SELECT 1 FROM app_operations c WHERE c.parent_id = p.id)",
        (list(parent_ids),),
    )


async def operations_keep(connection: Connection, operation_ids: Sequence[str], now: datetime) -> None:
    """Those of them that are still there."""
    await connection.execute("UPDATE app_operations SET kept_at = %s WHERE id = ANY(%s)", (now, list(operation_ids)))


async def work_list(connection: Connection, project_id: str, app_slugs: Sequence[str], limit: int) -> list[DictRow]:
    """Oldest first: one index scan per slug, each of them short."""
    cursor = await connection.execute(
        "SELECT w.* FROM unnest(%s::text[]) AS slug CROSS JOIN LATERAL (SELECT id, instance_id, app_slug, kind, target,"
        " member_id, attempt, created_at, deadline_at FROM app_operations WHERE project_id = %s AND app_slug = slug"
        " AND status = 'pending' AND NOT held AND target <> 'bulk' ORDER BY id LIMIT %s) w ORDER BY w.id LIMIT %s",
        (list(app_slugs), project_id, limit, limit),
    )
    return await cursor.fetchall()


async def operation_change(
    connection: Connection, operation_id: str, changes: dict[str, object], grow: bool = True
) -> DictRow:
    """The caller holds the row, or (a child) its instance. `changes` are columns of ours."""
    values = {k: Jsonb(v) if isinstance(v, dict | list) else v for k, v in changes.items()}
    assignments = ", ".join(f"{column} = %({column})s" for column in changes)
    if grow:
        assignments += ", generation = generation + 1"
    cursor = await connection.execute(
        f"UPDATE app_operations SET {assignments} WHERE id = %(id_)s RETURNING {COLUMNS}",
        {**values, "id_": operation_id},
    )
    row = await cursor.fetchone()
    if row is None:
        raise LookupError(operation_id)  # who holds a row and cannot change it is wrong about something
    return row


async def report_lock(connection: Connection, project_id: str, operation_id: str) -> DictRow | None:
    """For a report, which touches nothing but the operation."""
    cursor = await connection.execute(
        f"SELECT {COLUMNS} FROM app_operations WHERE id = %s AND project_id = %s FOR UPDATE", (operation_id, project_id)
    )
    return await cursor.fetchone()
