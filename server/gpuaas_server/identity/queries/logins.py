"""SQL of sign-ins: attempts per address, failures and lockouts per user name."""

from datetime import datetime, timedelta

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection


async def rate_add(connection: Connection, address: str, minute: datetime, attempts: int) -> int:
    """Count attempts of an address in a minute; the answer is how many there are now."""
    cursor = await connection.execute(
        "INSERT INTO login_rates AS r (address, minute, attempts) VALUES (%s, %s, %s)"
        " ON CONFLICT (address, minute) DO UPDATE SET attempts = r.attempts + EXCLUDED.attempts"
        " RETURNING attempts",
        (address, minute, attempts),
    )
    row = await cursor.fetchone()
    return int(row["attempts"]) if row else 0


async def rate_read(connection: Connection, address: str, minute: datetime) -> int:
    cursor = await connection.execute(
        "SELECT attempts FROM login_rates WHERE address = %s AND minute = %s", (address, minute)
    )
    row = await cursor.fetchone()
    return int(row["attempts"]) if row else 0


async def login_account(connection: Connection, email: str, digest: bytes) -> DictRow:
    """The user, if there is one, and the lock on that name, if there is one."""
    cursor = await connection.execute(
        "SELECT u.id, u.name, u.tenant_id, u.password_hash, u.disabled, u.auth_epoch, f.locked_until"
        " FROM (SELECT 1) one LEFT JOIN users u ON u.email = %s"
        " LEFT JOIN login_failures f ON f.username_digest = %s",
        (email, digest),
    )
    row = await cursor.fetchone()
    return row or {}


async def failure_add(
    connection: Connection, digest: bytes, now: datetime, attempts: int, lockout: timedelta
) -> DictRow:
    """Count a failure; the one that reaches the limit locks. Those older than a lockout are forgotten."""
    cursor = await connection.execute(
        "INSERT INTO login_failures AS f (username_digest, failures, last_failure_at, locked_until)"
        " VALUES (%(digest)s, 1, %(now)s, CASE WHEN %(attempts)s <= 1 THEN %(until)s::timestamptz END)"
        " ON CONFLICT (username_digest) DO UPDATE SET last_failure_at = %(now)s,"
        " failures = CASE WHEN f.last_failure_at < %(old)s THEN 1 ELSE f.failures + 1 END,"
        " locked_until = CASE WHEN f.locked_until > %(now)s THEN f.locked_until"
        "  WHEN (CASE WHEN f.last_failure_at < %(old)s THEN 1 ELSE f.failures + 1 END) >= %(attempts)s"
        "  THEN %(until)s::timestamptz END"
        " RETURNING failures, locked_until",
        {"digest": digest, "now": now, "attempts": attempts, "until": now + lockout, "old": now - lockout},
    )
    row = await cursor.fetchone()
    return row or {}


async def lock_read(connection: Connection, digest: bytes) -> datetime | None:
    """Until when the name is locked; holds the row, so that failures being counted now are seen."""
    cursor = await connection.execute(
        "SELECT locked_until FROM login_failures WHERE username_digest = %s FOR UPDATE", (digest,)
    )
    row = await cursor.fetchone()
    until: datetime | None = row["locked_until"] if row else None
    return until


async def failure_clear(connection: Connection, digest: bytes) -> None:
    await connection.execute("DELETE FROM login_failures WHERE username_digest = %s", (digest,))


async def rate_forget(connection: Connection, before: datetime) -> None:
    await connection.execute("DELETE FROM login_rates WHERE minute < %s", (before,))


async def failure_forget(connection: Connection, before: datetime) -> None:
    """The table is keyed by what strangers typed, so those who come next sweep it."""
    await connection.execute(
        "DELETE FROM login_failures WHERE last_failure_at < %s AND (locked_until IS NULL OR locked_until < %s)",
        (before, before),
    )
