"""All SQL of terminals."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.kernel.database import Connection, rows_removed
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import columns_of, fetch_all, fetch_one, fetch_optional, fetch_values, recordset_insert
from gpuaas_server.terminals.rows import LiveTerminals, TerminalRow

COLUMNS = columns_of(TerminalRow)
TERMINAL_INSERT = recordset_insert("terminals", TerminalRow)


async def live_counts(connection: Connection, allocation_id: str, user_id: str) -> LiveTerminals:
    """Count the live terminals of the allocation and of the user, and lock both: else two at the limit would both get in."""
    for subject in sorted((allocation_id, user_id)):
        await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 19))", (subject,))
    return await fetch_one(
        connection,
        LiveTerminals,
        "SELECT (SELECT count(*) FROM terminals WHERE allocation_id = %s AND status <> 'ended') AS on_allocation,"
        " (SELECT count(*) FROM terminals WHERE opened_by = %s AND status <> 'ended') AS of_user",
        (allocation_id, user_id),
    )


async def terminal_show(
    connection: Connection, project_id: str, allocation_id: str, terminal_id: str
) -> TerminalRow | None:
    return await fetch_optional(
        connection,
        TerminalRow,
        f"SELECT {COLUMNS} FROM terminals WHERE id = %s AND project_id = %s AND allocation_id = %s",
        (terminal_id, project_id, allocation_id),
    )


async def terminal_find(connection: Connection, terminal_id: str) -> TerminalRow | None:
    """Find the terminal by its id alone, for the worker and for its holder."""
    return await fetch_optional(
        connection, TerminalRow, f"SELECT {COLUMNS} FROM terminals WHERE id = %s", (terminal_id,)
    )


async def terminal_list(
    connection: Connection, project_id: str, allocation_id: str, page: PageRequest
) -> list[TerminalRow]:
    """List the newest first."""
    return await fetch_page(
        connection,
        TerminalRow,
        f"SELECT {COLUMNS} FROM terminals WHERE project_id = %s AND allocation_id = %s",
        (project_id, allocation_id),
        page,
    )


async def terminal_take(
    connection: Connection,
    terminal_id: str,
    node_id: str,
    key_generation: int,
    holder: str,
    now: datetime,
    until: datetime,
) -> TerminalRow | None:
    """Claim the terminal for a holder, once. Return None to whoever is second, late, or uses a former key of the node."""
    return await fetch_optional(
        connection,
        TerminalRow,
        "UPDATE terminals SET holder = %s, lease_until = %s WHERE id = %s AND node_id = %s AND status = 'requested'"
        " AND EXISTS (SELECT FROM nodes n WHERE n.id = %s AND n.key_generation = %s AND n.retired_at IS NULL)"
        f" AND holder IS NULL AND open_by > %s RETURNING {COLUMNS}",
        (holder, until, terminal_id, node_id, node_id, key_generation, now),
    )


async def terminal_opened(
    connection: Connection, terminal_id: str, holder: str | None, now: datetime
) -> TerminalRow | None:
    return await fetch_optional(
        connection,
        TerminalRow,
        "UPDATE terminals SET status = 'open', opened_at = %s, ends_at = %s + make_interval(secs => max_seconds)"
        f" WHERE id = %s AND holder = %s AND status = 'requested' RETURNING {COLUMNS}",
        (now, now, terminal_id, holder),
    )


async def terminal_renew(
    connection: Connection, terminal_id: str, holder: str | None, until: datetime, bytes_in: int, bytes_out: int
) -> bool:
    """Renew the holder's lease; return whether the terminal is live and still the holder's."""
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
    message: str,
    exit_status: int | None,
    now: datetime,
) -> list[TerminalRow]:
    """End the terminals, and return those that had not ended: the first end counts."""
    return await fetch_all(
        connection,
        TerminalRow,
        "UPDATE terminals SET status = 'ended', reason = %s, message = %s, exit_status = %s, ended_at = %s"
        f" WHERE id = ANY(%s) AND status <> 'ended' RETURNING {COLUMNS}",
        (reason, message, exit_status, now, list(terminal_ids)),
    )


async def bytes_set(connection: Connection, terminal_id: str, bytes_in: int, bytes_out: int) -> None:
    await connection.execute(
        "UPDATE terminals SET bytes_in = %s, bytes_out = %s WHERE id = %s AND status <> 'ended'",
        (bytes_in, bytes_out, terminal_id),
    )


async def live_on_allocation(connection: Connection, allocation_id: str) -> list[str]:
    return await fetch_values(
        connection,
        str,
        "SELECT id FROM terminals WHERE allocation_id = %s AND status <> 'ended' ORDER BY id FOR UPDATE",
        (allocation_id,),
    )


async def terminals_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    return await rows_removed(
        connection,
        "DELETE FROM terminals WHERE id = ANY(ARRAY(SELECT id FROM terminals WHERE ended_at < %s"
        " ORDER BY ended_at LIMIT %s))",
        (before, portion),
    )
