"""All SQL of planned maintenance."""

from collections.abc import Mapping
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection

_COLUMNS = (
    "id, node_id, state, starts_at, ends_at, reason, cordoned_at, planned_by, created_at, started_at, finished_at,"
    " finished_by, finished_reason"
)
LIVE = "(state = 'planned' OR state = 'active')"


async def window_insert(connection: Connection, row: Mapping[str, object]) -> None:
    await connection.execute(
        "INSERT INTO maintenance_windows (id, node_id, starts_at, ends_at, reason, cordoned_at, planned_by, created_at)"
        " VALUES (%(id)s, %(node_id)s, %(starts_at)s, %(ends_at)s, %(reason)s, %(cordoned_at)s, %(planned_by)s,"
        " %(created_at)s)",
        row,
    )


async def window_list(
    connection: Connection, node_id: str | None, state: str | None, after: str | None, limit: int
) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM maintenance_windows WHERE (%(node)s::text IS NULL OR node_id = %(node)s)"
        " AND (%(state)s::text IS NULL OR state = %(state)s)"
        " AND id < coalesce(%(after)s, 'zzz') ORDER BY id DESC LIMIT %(limit)s",
        {"node": node_id, "state": state, "after": after, "limit": limit},
    )
    return await cursor.fetchall()


async def window_node(connection: Connection, window_id: str) -> str | None:
    cursor = await connection.execute("SELECT node_id FROM maintenance_windows WHERE id = %s", (window_id,))
    row = await cursor.fetchone()
    return row["node_id"] if row else None


async def window_show(connection: Connection, window_id: str) -> DictRow | None:
    cursor = await connection.execute(f"SELECT {_COLUMNS} FROM maintenance_windows WHERE id = %s", (window_id,))
    return await cursor.fetchone()


async def window_live(connection: Connection, node_id: str) -> DictRow | None:
    """The one that is planned or active. Whoever holds the node's row may change it."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM maintenance_windows WHERE node_id = %s AND {LIVE}", (node_id,)
    )
    return await cursor.fetchone()


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
