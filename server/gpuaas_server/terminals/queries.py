"""All SQL of terminals."""

from collections.abc import Sequence
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection, rows_removed

COLUMNS = (
    'id, tenant_id, project_id, allocation_id, node_id, status, opened_by, opened_by_kind, opened_by_name, address, "columns",'
    ' "rows", idle_seconds, max_seconds, open_by, holder, lease_until, opened_at, ends_at, ended_at, reason, sentence,'
    " exit_status, bytes_in, bytes_out, correlation_id, created_at"
)
TERMINAL_INSERT = (
    "INSERT INTO terminals (id, tenant_id, project_id, allocation_id, node_id, status, opened_by, opened_by_kind,"
    ' opened_by_name, address, "columns", "rows", idle_seconds, max_seconds, open_by, correlation_id, created_at)'
    " SELECT id, tenant_id, project_id, allocation_id, node_id, status, opened_by, opened_by_kind,"
    ' opened_by_name, address, "columns", "rows", idle_seconds, max_seconds, open_by, correlation_id, created_at'
    " FROM jsonb_to_recordset(%s::jsonb) AS r(id text, tenant_id text, project_id text, allocation_id text, node_id text,"
    ' status text, opened_by text, opened_by_kind text, opened_by_name text, address text, "columns" smallint,'
    ' "rows" smallint, idle_seconds int, max_seconds int, open_by timestamptz, correlation_id text,'
    " created_at timestamptz)"
)


async def live_counts(connection: Connection, allocation_id: str, user_id: str) -> DictRow:
    """How many live on the allocation, and of the user. Who counts makes others wait: two at the limit would both get in."""
    for subject in sorted((allocation_id, user_id)):
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 19))", (subject,))
    cursor = await connection.execute(
        "SELECT (SELECT count(*) FROM terminals WHERE allocation_id = %s AND status <> 'ended') AS on_allocation,"
        " (SELECT count(*) FROM terminals WHERE opened_by = %s AND status <> 'ended') AS of_user",
        (allocation_id, user_id),
    )
    row = await cursor.fetchone()
    if row is None:
        raise LookupError("a count is always there")
    return row


async def terminal_show(
    connection: Connection, project_id: str, allocation_id: str, terminal_id: str
) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {COLUMNS} FROM terminals WHERE id = %s AND project_id = %s AND allocation_id = %s",
        (terminal_id, project_id, allocation_id),
    )
    return await cursor.fetchone()


async def terminal_find(connection: Connection, terminal_id: str) -> DictRow | None:
    """For the machine and for holders, whoever's it is."""
    cursor = await connection.execute(f"SELECT {COLUMNS} FROM terminals WHERE id = %s", (terminal_id,))
    return await cursor.fetchone()


async def terminal_list(
    connection: Connection, project_id: str, allocation_id: str, after: str | None, limit: int
) -> list[DictRow]:
    """Newest first."""
    cursor = await connection.execute(
        f"SELECT {COLUMNS} FROM terminals WHERE project_id = %s AND allocation_id = %s AND id < coalesce(%s, 'zzz')"
        " ORDER BY id DESC LIMIT %s",
        (project_id, allocation_id, after, limit),
    )
    return await cursor.fetchall()


async def terminal_take(
    connection: Connection, terminal_id: str, node_id: str, holder: str, now: datetime, until: datetime
) -> DictRow | None:
    """Once: who comes second, or too late, gets nothing."""
    cursor = await connection.execute(
        "UPDATE terminals SET holder = %s, lease_until = %s WHERE id = %s AND node_id = %s AND status = 'requested'"
        f" AND holder IS NULL AND open_by > %s RETURNING {COLUMNS}",
        (holder, until, terminal_id, node_id, now),
    )
    return await cursor.fetchone()


async def terminal_opened(connection: Connection, terminal_id: str, holder: str, now: datetime) -> DictRow | None:
    cursor = await connection.execute(
        "UPDATE terminals SET status = 'open', opened_at = %s, ends_at = %s + make_interval(secs => max_seconds)"
        f" WHERE id = %s AND holder = %s AND status = 'requested' RETURNING {COLUMNS}",
        (now, now, terminal_id, holder),
    )
    return await cursor.fetchone()


async def terminal_renew(
    connection: Connection, terminal_id: str, holder: str, until: datetime, bytes_in: int, bytes_out: int
) -> bool:
    """Whether it still lives, and is still the holder's."""
    cursor = await connection.execute(
        "UPDATE terminals SET lease_until = %s, bytes_in = %s, bytes_out = %s"
        " WHERE id = %s AND holder = %s AND status <> 'ended'",
        (until, bytes_in, bytes_out, terminal_id, holder),
    )
    return cursor.rowcount == 1


async def terminals_end(
    connection: Connection,
    terminal_ids: Sequence[str],
    reason: str,
    sentence: str,
    exit_status: int | None,
    now: datetime,
) -> list[DictRow]:
    """Those that had not ended: the first end is the one that counts."""
    cursor = await connection.execute(
        "UPDATE terminals SET status = 'ended', reason = %s, sentence = %s, exit_status = %s, ended_at = %s"
        f" WHERE id = ANY(%s) AND status <> 'ended' RETURNING {COLUMNS}",
        (reason, sentence, exit_status, now, list(terminal_ids)),
    )
    return await cursor.fetchall()


async def bytes_set(connection: Connection, terminal_id: str, bytes_in: int, bytes_out: int) -> None:
    await connection.execute(
        "UPDATE terminals SET bytes_in = %s, bytes_out = %s WHERE id = %s AND status <> 'ended'",
        (bytes_in, bytes_out, terminal_id),
    )


async def live_on_allocation(connection: Connection, allocation_id: str) -> list[str]:
    cursor = await connection.execute(
        "SELECT id FROM terminals WHERE allocation_id = %s AND status <> 'ended' ORDER BY id FOR UPDATE",
        (allocation_id,),
    )
    return [row["id"] for row in await cursor.fetchall()]


async def terminals_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    return await rows_removed(
        connection,
        "DELETE FROM terminals WHERE id = ANY(ARRAY(SELECT id FROM terminals WHERE ended_at < %s"
        " ORDER BY ended_at LIMIT %s))",
        (before, portion),
    )
