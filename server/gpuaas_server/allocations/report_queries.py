"""All SQL of reports that a host is broken."""

from datetime import datetime

from gpuaas_server.allocations.rows import HostReportRow
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import columns_of, fetch_optional, fetch_value, values_insert, values_of

_COLUMNS = columns_of(HostReportRow)


async def open_reports_lock(connection: Connection, tenant_id: str) -> int:
    """Count the tenant's open reports. Nobody else of the tenant reports before the commit."""
    await connection.execute("SELECT pg_advisory_xact_lock(hashtext('host-reports/' || %s))", (tenant_id,))
    statement = "SELECT count(*) FROM host_reports WHERE tenant_id = %s AND cleared_at IS NULL"
    return await fetch_value(connection, int, statement, (tenant_id,)) or 0


async def report_insert(connection: Connection, row: HostReportRow) -> None:
    await connection.execute(values_insert("host_reports", HostReportRow), values_of(row))


async def report_list(
    connection: Connection, node_id: str | None, cleared: bool | None, page: PageRequest
) -> list[HostReportRow]:
    return await fetch_page(
        connection,
        HostReportRow,
        f"SELECT {_COLUMNS} FROM host_reports WHERE (%(node)s::text IS NULL OR node_id = %(node)s)"
        " AND (%(cleared)s::boolean IS NULL OR (cleared_at IS NOT NULL) = %(cleared)s)",
        {"node": node_id, "cleared": cleared},
        page,
    )


async def report_lock(connection: Connection, report_id: str) -> HostReportRow | None:
    return await fetch_optional(
        connection, HostReportRow, f"SELECT {_COLUMNS} FROM host_reports WHERE id = %s FOR UPDATE", (report_id,)
    )


async def report_clear(connection: Connection, report_id: str, by: str, reason: str, now: datetime) -> None:
    await connection.execute(
        "UPDATE host_reports SET cleared_at = %s, cleared_by = %s, cleared_reason = %s WHERE id = %s",
        (now, by, reason, report_id),
    )
