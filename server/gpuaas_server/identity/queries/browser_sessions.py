"""SQL of sessions in browsers. A session that was ended has no row."""

from datetime import datetime

from gpuaas_server.identity.rows import BrowserSessionRow, EndedBrowserSession, NewBrowserSessionRow
from gpuaas_server.kernel.database import Connection, rows_removed
from gpuaas_server.kernel.rows import columns_of, fetch_optional, values_insert, values_of


async def session_insert(connection: Connection, row: NewBrowserSessionRow) -> None:
    await connection.execute(values_insert("browser_sessions", NewBrowserSessionRow), values_of(row))


async def session_read(connection: Connection, secret_digest: bytes) -> BrowserSessionRow | None:
    return await fetch_optional(
        connection,
        BrowserSessionRow,
        f"SELECT {columns_of(BrowserSessionRow)} FROM browser_sessions WHERE secret_digest = %s",
        (secret_digest,),
    )


async def session_slide(
    connection: Connection, session_id: str, now: datetime, expires_at: datetime, before: datetime
) -> None:
    """Move the session's end on. Of several requests at once, one does it."""
    await connection.execute(
        "UPDATE browser_sessions SET last_used_at = %s, expires_at = %s WHERE id = %s AND last_used_at <= %s",
        (now, expires_at, session_id, before),
    )


async def session_end(connection: Connection, secret_digest: bytes) -> EndedBrowserSession | None:
    """End the session of this secret; None when there was none."""
    return await fetch_optional(
        connection,
        EndedBrowserSession,
        "DELETE FROM browser_sessions s USING users u WHERE s.secret_digest = %s AND u.id = s.user_id"
        " RETURNING u.id, u.name, u.tenant_id, s.id AS session_id",
        (secret_digest,),
    )


async def sessions_forget(connection: Connection, before: datetime, portion: int) -> int:
    return await rows_removed(
        connection,
        "DELETE FROM browser_sessions WHERE id = ANY(ARRAY(SELECT id FROM browser_sessions WHERE expires_at < %s"
        " ORDER BY expires_at LIMIT %s))",
        (before, portion),
    )
