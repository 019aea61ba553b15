"""SQL of sessions in browsers. A session that was ended has no row."""

from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection, rows_removed

_COLUMNS = "id, user_id, auth_epoch, last_used_at, expires_at, ends_at"


async def session_insert(
    connection: Connection,
    session_id: str,
    user_id: str,
    tenant_id: str | None,
    auth_epoch: int,
    secret_digest: bytes,
    now: datetime,
    expires_at: datetime,
    ends_at: datetime,
) -> None:
    await connection.execute(
        "INSERT INTO browser_sessions (id, user_id, tenant_id, auth_epoch, secret_digest, created_at, last_used_at,"
        " expires_at, ends_at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
        (session_id, user_id, tenant_id, auth_epoch, secret_digest, now, now, expires_at, ends_at),
    )


async def session_read(connection: Connection, secret_digest: bytes) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM browser_sessions WHERE secret_digest = %s", (secret_digest,)
    )
    return await cursor.fetchone()


async def session_slide(
    connection: Connection, session_id: str, now: datetime, expires_at: datetime, before: datetime
) -> None:
    """Of those who use it at once, one moves it on."""
    await connection.execute(
        "UPDATE browser_sessions SET last_used_at = %s, expires_at = %s WHERE id = %s AND last_used_at <= %s",
        (now, expires_at, session_id, before),
    )


async def session_end(connection: Connection, secret_digest: bytes) -> DictRow | None:
    """The session that was there, and whose; None when there was none."""
    cursor = await connection.execute(
        "DELETE FROM browser_sessions s USING users u WHERE s.secret_digest = %s AND u.id = s.user_id"
        " RETURNING s.id AS session_id, u.id, u.name, u.tenant_id",
        (secret_digest,),
    )
    return await cursor.fetchone()


async def sessions_forget(connection: Connection, before: datetime, portion: int) -> int:
    return await rows_removed(
        connection,
        "DELETE FROM browser_sessions WHERE id = ANY(ARRAY(SELECT id FROM browser_sessions WHERE expires_at < %s"
        " ORDER BY expires_at LIMIT %s))",
        (before, portion),
    )
