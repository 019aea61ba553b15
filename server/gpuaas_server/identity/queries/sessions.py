"""SQL of sessions: who signed in, and the digests of the refresh token that is good now and of the one before."""

from datetime import datetime

from gpuaas_server.identity.rows import AccountIdentity, LockedSession, NewSessionRow
from gpuaas_server.kernel.database import Connection, rows_removed
from gpuaas_server.kernel.rows import columns_of, fetch_optional, values_insert, values_of


async def session_insert(connection: Connection, row: NewSessionRow) -> None:
    await connection.execute(values_insert("sessions", NewSessionRow), values_of(row))


async def session_user(connection: Connection, family_digest: bytes) -> AccountIdentity | None:
    return await fetch_optional(
        connection,
        AccountIdentity,
        f"SELECT {columns_of(AccountIdentity, 'u')} FROM sessions s JOIN users u ON u.id = s.user_id"
        " WHERE s.family_digest = %s",
        (family_digest,),
    )


async def session_lock(connection: Connection, family_digest: bytes) -> LockedSession | None:
    """Lock the session and return it: those who refresh at the same moment go on one after the other."""
    return await fetch_optional(
        connection,
        LockedSession,
        "SELECT s.id, s.auth_epoch, s.token_digest, s.previous_digest, s.rotated_at, s.retried, s.expires_at,"
        " s.revoked_at, u.auth_epoch AS user_epoch,"
        " u.disabled OR EXISTS (SELECT 1 FROM tenants t WHERE t.id = u.tenant_id AND t.delete_after IS NOT NULL) AS disabled"
        " FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.family_digest = %s FOR UPDATE OF s",
        (family_digest,),
    )


async def session_rotate(
    connection: Connection, session_id: str, token_digest: bytes, previous_digest: bytes, retried: bool, now: datetime
) -> None:
    """Store the next token. A retry keeps the time of the rotation whose answer was lost: no further retry is permitted."""
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
