"""All SQL of planned maintenance."""

from datetime import datetime

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import columns_of, fetch_optional, fetch_value, values_insert, values_of
from gpuaas_server.nodes.rows import MaintenanceWindowRow

_COLUMNS = columns_of(MaintenanceWindowRow)
LIVE = "(state = 'planned' OR state = 'active')"


async def window_insert(connection: Connection, row: MaintenanceWindowRow) -> None:
    await connection.execute(values_insert("maintenance_windows", MaintenanceWindowRow), values_of(row))


async def window_list(
    connection: Connection, node_id: str | None, state: str | None, page: PageRequest
) -> list[MaintenanceWindowRow]:
    return await fetch_page(
        connection,
        MaintenanceWindowRow,
        f"SELECT {_COLUMNS} FROM maintenance_windows WHERE (%(node)s::text IS NULL OR node_id = %(node)s)"
        " AND (%(state)s::text IS NULL OR state = %(state)s)",
        {"node": node_id, "state": state},
        page,
    )


async def window_node(connection: Connection, window_id: str) -> str | None:
    statement = "SELECT node_id FROM maintenance_windows WHERE id = %s"
    return await fetch_value(connection, str, statement, (window_id,))


async def window_show(connection: Connection, window_id: str) -> MaintenanceWindowRow | None:
    return await fetch_optional(
        connection, MaintenanceWindowRow, f"SELECT {_COLUMNS} FROM maintenance_windows WHERE id = %s", (window_id,)
    )


async def window_live(connection: Connection, node_id: str) -> MaintenanceWindowRow | None:
    """Return the window that is planned or active. Whoever has the node's lock may change it."""
    return await fetch_optional(
        connection,
        MaintenanceWindowRow,
        f"SELECT {_COLUMNS} FROM maintenance_windows WHERE node_id = %s AND {LIVE}",
        (node_id,),
    )


async def window_start(connection: Connection, window_id: str, cordoned_at: datetime | None, now: datetime) -> None:
    await connection.execute(
        "UPDATE maintenance_windows SET state = 'active', started_at = %s, cordoned_at = %s WHERE id = %s",
        (now, cordoned_at, window_id),
    )


async def window_finish(
    connection: Connection, window_id: str, state: str, by: str, reason: str | None, now: datetime
) -> None:
    await connection.execute(
        "UPDATE maintenance_windows SET state = %s, finished_at = %s, finished_by = %s, finished_reason = %s WHERE id = %s",
        (state, now, by, reason, window_id),
    )
