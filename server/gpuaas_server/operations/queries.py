"""All SQL of operations."""

from collections.abc import Sequence
from datetime import datetime

from psycopg.types.json import Jsonb

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.json_text import as_json
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import (
    columns_of,
    fetch_all,
    fetch_one,
    fetch_optional,
    fetch_value,
)
from gpuaas_server.operations.rows import (
    ChildOperation,
    EndedOperation,
    NewOperation,
    OperationChanges,
    OperationRow,
    WaitingOperation,
)

_COLUMNS = columns_of(OperationRow)
# The lane: all members for the instance, one for a member, none for a bulk.
_INSERT = (
    "INSERT INTO app_operations (id, tenant_id, project_id, instance_id, app_slug, kind, target, member_id,"
    " new_member_id, parent_id, on_failure, deferred, lane, status, status_since, status_before, parameters, children, reason,"
    " requested_by, requested_by_name, correlation_id, created_at, deadline_at)"
    " SELECT id, tenant_id, project_id, instance_id, app_slug, kind, target, member_id, new_member_id, parent_id,"
    " on_failure, deferred,"
    " CASE target WHEN 'instance' THEN int4range(NULL, NULL) WHEN 'member' THEN int4range(ordinal, ordinal, '[]') END,"
    " 'pending', now, status_before, parameters, children, reason, requested_by, requested_by_name,"
    " correlation_id, now, deadline_at FROM jsonb_to_recordset(%s::jsonb) AS r(id text, tenant_id text,"
    " project_id text, instance_id text, app_slug text, kind text, target text, member_id text, new_member_id text,"
    " parent_id text, on_failure text, deferred boolean, ordinal int, status_before text, parameters jsonb, children jsonb,"
    " reason text, requested_by text, requested_by_name text, correlation_id text, now timestamptz,"
    " deadline_at timestamptz)"
)


async def operations_insert(connection: Connection, rows: Sequence[NewOperation]) -> None:
    await connection.execute(_INSERT, (as_json(list(rows)),))


async def operation_show(
    connection: Connection, project_id: str, operation_id: str, apps: Sequence[str] | None = None
) -> OperationRow | None:
    """Return the operation. `apps`: those that the caller sees; None for all."""
    return await fetch_optional(
        connection,
        OperationRow,
        f"SELECT {_COLUMNS} FROM app_operations WHERE id = %(id)s AND project_id = %(project)s"
        " AND (%(apps)s::text[] IS NULL OR app_slug = ANY(%(apps)s))",
        {"id": operation_id, "project": project_id, "apps": apps},
    )


async def operation_instance(connection: Connection, operation_id: str) -> str | None:
    """Return the instance that the caller must lock before the operation."""
    return await fetch_value(connection, str, "SELECT instance_id FROM app_operations WHERE id = %s", (operation_id,))


async def operation_lock(connection: Connection, operation_id: str) -> OperationRow | None:
    """Caller must have locked the instance."""
    return await fetch_optional(
        connection, OperationRow, f"SELECT {_COLUMNS} FROM app_operations WHERE id = %s FOR UPDATE", (operation_id,)
    )


async def operations_lock(connection: Connection, operation_ids: Sequence[str]) -> list[OperationRow]:
    """Caller must have locked the instance. In the order of their ids, so that no reporter is waited for in a circle."""
    if not operation_ids:
        return []
    return await fetch_all(
        connection,
        OperationRow,
        f"SELECT {_COLUMNS} FROM app_operations WHERE id = ANY(%s) ORDER BY id FOR UPDATE",
        (list(operation_ids),),
    )


async def first_lock(connection: Connection, instance_id: str) -> OperationRow | None:
    """Lock the deploy with which the instance began. Caller must have locked the instance."""
    return await fetch_optional(
        connection,
        OperationRow,
        f"SELECT {_COLUMNS} FROM app_operations WHERE instance_id = %s AND kind = 'deploy' ORDER BY id LIMIT 1 FOR UPDATE",
        (instance_id,),
    )


async def live_lock(connection: Connection, instance_id: str) -> list[OperationRow]:
    """Lock the live operations on the instance and its members, as `operations_lock` does."""
    return await fetch_all(
        connection,
        OperationRow,
        f"SELECT {_COLUMNS} FROM app_operations WHERE instance_id = %s AND finished_at IS NULL AND target <> 'bulk'"
        " ORDER BY id FOR UPDATE",
        (instance_id,),
    )


async def report_lock(connection: Connection, project_id: str, operation_id: str) -> OperationRow | None:
    """Lock for a report, which touches nothing but the operation."""
    return await fetch_optional(
        connection,
        OperationRow,
        f"SELECT {_COLUMNS} FROM app_operations WHERE id = %s AND project_id = %s FOR UPDATE",
        (operation_id, project_id),
    )


async def operation_list(
    connection: Connection,
    project_id: str | None,
    instance_id: str | None,
    parent_id: str | None,
    status: str | None,
    page: PageRequest,
    apps: Sequence[str] | None = None,
) -> list[OperationRow]:
    """List the newest first, of one project or in a platform scope of all. The clauses are ours, the values parameters."""
    clauses, values = ["true"], list[object]()
    for clause, value in (
        ("project_id = %s", project_id),
        ("instance_id = %s", instance_id),
        ("parent_id = %s", parent_id),
        ("status = %s", status),
        ("app_slug = ANY(%s)", apps),
        ("id < %s", page.after),
    ):
        if value is not None:
            clauses.append(clause)
            values.append(value)
    return await fetch_all(
        connection,
        OperationRow,
        f"SELECT {_COLUMNS} FROM app_operations WHERE {' AND '.join(clauses)} ORDER BY id DESC LIMIT %s",
        [*values, page.rows],
    )


async def children_of(connection: Connection, parent_id: str) -> list[ChildOperation]:
    return await fetch_all(
        connection,
        ChildOperation,
        "SELECT id, status, deferred FROM app_operations WHERE parent_id = %s ORDER BY id",
        (parent_id,),
    )


async def ended_before(connection: Connection, before: datetime, limit: int) -> list[EndedOperation]:
    """Lock those that ended first; one that was kept counts from then. A row that is locked is skipped.

    A bulk ends in the transaction of its last child. It comes after it, since it is kept while it has one.
    """
    return await fetch_all(
        connection,
        EndedOperation,
        "SELECT id, instance_id, target FROM app_operations WHERE finished_at IS NOT NULL"
        " AND coalesce(kept_at, finished_at) < %s ORDER BY coalesce(kept_at, finished_at), target = 'bulk'"
        " LIMIT %s FOR UPDATE SKIP LOCKED",
        (before, limit),
    )


async def operations_delete(connection: Connection, operation_ids: Sequence[str]) -> None:
    await connection.execute("DELETE FROM app_operations WHERE id = ANY(%s)", (list(operation_ids),))


async def childless_delete(connection: Connection, parent_ids: Sequence[str]) -> None:
    """Delete bulk operations none of whose children is there any more."""
    await connection.execute(
        "DELETE FROM app_operations p WHERE p.id = ANY(%s)"
        " AND NOT EXISTS (SELECT 1 FROM app_operations c WHERE c.parent_id = p.id)",
        (list(parent_ids),),
    )


async def operations_keep(connection: Connection, operation_ids: Sequence[str], now: datetime) -> None:
    """Mark the operations that must stay, so that housekeeping looks at them again later."""
    await connection.execute("UPDATE app_operations SET kept_at = %s WHERE id = ANY(%s)", (now, list(operation_ids)))


async def work_list(
    connection: Connection, project_id: str, app_slugs: Sequence[str], limit: int
) -> list[WaitingOperation]:
    """List the oldest first, by one short index scan per slug."""
    columns = columns_of(WaitingOperation)
    return await fetch_all(
        connection,
        WaitingOperation,
        f"SELECT w.* FROM unnest(%s::text[]) AS slug CROSS JOIN LATERAL (SELECT {columns}"
        " FROM app_operations WHERE project_id = %s AND app_slug = slug"
        " AND status = 'pending' AND NOT deferred AND target <> 'bulk' ORDER BY id LIMIT %s) w ORDER BY w.id LIMIT %s",
        (list(app_slugs), project_id, limit, limit),
    )


async def operation_change(
    connection: Connection, operation_id: str, changes: OperationChanges, grow: bool = True
) -> OperationRow:
    """Caller must hold the row lock, or (of a child) that of the instance."""
    values = {k: Jsonb(v) if isinstance(v, dict | list) else v for k, v in changes.items()}
    assignments = ", ".join(f"{column} = %({column})s" for column in changes)
    if grow:
        assignments += ", generation = generation + 1"
    return await fetch_one(
        connection,
        OperationRow,
        f"UPDATE app_operations SET {assignments} WHERE id = %(id_)s RETURNING {_COLUMNS}",
        {**values, "id_": operation_id},
    )
