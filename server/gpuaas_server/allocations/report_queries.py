"""All SQL of reports that a host is broken."""

from collections.abc import Mapping
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection

_COLUMNS = (
    "id, project_id, allocation_id, node_id, reason, reported_by, created_at, cleared_at, cleared_by, cleared_reason"
)


async def open_reports_lock(connection: Connection, tenant_id: str) -> int:
    """How many reports of the tenant are open. Nobody else of the tenant reports before the commit."""
    await connection.execute("SELECT pg_advisory_xact_lock(hashtext('host-reports/' || %s))", (tenant_id,))
    cursor = await connection.execute(
        "SELECT count(*) AS n FROM host_reports WHERE tenant_id = %s AND cleared_at IS NULL", (tenant_id,)
    )
    row = await cursor.fetchone()
    return int(row["n"]) if row else 0


async def report_insert(connection: Connection, row: Mapping[str, object]) -> None:
    await connection.execute(
        "INSERT INTO host_reports (id, tenant_id, project_id, allocation_id, node_id, reason, reported_by, created_at)"
        " VALUES (%(id)s, %(tenant_id)s, %(project_id)s, %(allocation_id)s, %(node_id)s, %(reason)s, %(reported_by)s,"
        " %(created_at)s)",
        row,
    )


async def report_list(
    connection: Connection, node_id: str | None, cleared: bool | None, after: str | None, limit: int
) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM host_reports WHERE (%(node)s::text IS NULL OR node_id = %(node)s)"
        " AND (%(cleared)s::boolean IS NULL OR (cleared_at IS NOT NULL) = %(cleared)s)"
        " AND id < coalesce(%(after)s, 'zzz') ORDER BY id DESC LIMIT %(limit)s",
        {"node": node_id, "cleared": cleared, "after": after, "limit": limit},
    )
    return await cursor.fetchall()


async def report_lock(connection: Connection, report_id: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_COLUMNS}, tenant_id FROM host_reports WHERE id = %s FOR UPDATE", (report_id,)
    )
    return await cursor.fetchone()


async def report_clear(connection: Connection, report_id: str, by: str, reason: str, now: datetime) -> None:
    await connection.execute(
        "UPDATE host_reports SET cleared_at = %s, cleared_by = %s, cleared_reason = %s WHERE id = %s",
        (now, by, reason, report_id),
    )
