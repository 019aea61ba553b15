"""SQL of sessions: who signed in, and the digests of the refresh token that is good now and of the one before."""

from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection, rows_removed


async def session_insert(
    connection: Connection,
    session_id: str,
    user_id: str,
    tenant_id: str | None,
    auth_epoch: int,
    family_digest: bytes,
    token_digest: bytes,
    expires_at: datetime,
    now: datetime,
) -> None:
    await connection.execute(
        "INSERT INTO sessions (id, user_id, tenant_id, auth_epoch, family_digest, token_digest, rotated_at, created_at,"
        " last_used_at, expires_at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        (session_id, user_id, tenant_id, auth_epoch, family_digest, token_digest, now, now, now, expires_at),
    )


async def session_holder(connection: Connection, family_digest: bytes) -> DictRow | None:
    cursor = await connection.execute(
        "SELECT u.id, u.name, u.tenant_id FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.family_digest = %s",
        (family_digest,),
    )
    return await cursor.fetchone()


async def session_hold(connection: Connection, family_digest: bytes) -> DictRow | None:
    """Those who refresh at the same moment go on one after the other."""
    cursor = await connection.execute(
        "SELECT s.id, s.auth_epoch, s.token_digest, s.previous_digest, s.rotated_at, s.retried, s.expires_at,"
        " s.revoked_at, u.disabled, u.auth_epoch AS user_epoch"
        " FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.family_digest = %s FOR UPDATE OF s",
        (family_digest,),
    )
    return await cursor.fetchone()


async def session_rotate(
    connection: Connection, session_id: str, token_digest: bytes, previous_digest: bytes, retried: bool, now: datetime
) -> None:
    """A retry keeps the time of the rotation whose answer was lost, so that it opens no further retry."""
    await connection.execute(
        "UPDATE sessions SET token_digest = %(token)s, previous_digest = %(previous)s, retried = %(retried)s,"
        " rotated_at = CASE WHEN %(retried)s THEN rotated_at ELSE %(now)s END, last_used_at = %(now)s WHERE id = %(id)s",
        {"token": token_digest, "previous": previous_digest, "retried": retried, "now": now, "id": session_id},
    )


async def session_revoke(connection: Connection, session_id: str, now: datetime) -> None:
    await connection.execute("UPDATE sessions SET revoked_at = %s WHERE id = %s", (now, session_id))


async def sessions_forget(connection: Connection, before: datetime, portion: int) -> int:
    return await rows_removed(
        connection,
        "DELETE FROM sessions WHERE id = ANY(ARRAY(SELECT id FROM sessions WHERE expires_at < %s"
        " ORDER BY expires_at LIMIT %s))",
        (before, portion),
    )
