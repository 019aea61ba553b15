"""All SQL of enrolment tokens and their use."""

from collections.abc import Sequence
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection

_TOKEN = "id, note, max_uses, uses, expires_at, revoked_at, created_by, created_at"  # noqa: S105


async def token_insert(connection: Connection, row: Sequence[object]) -> None:
    """Row of (id, token_sha256, note, max_uses, expires_at, created_by, created_at)."""
    await connection.execute(
        "INSERT INTO enrolment_tokens (id, token_sha256, note, max_uses, expires_at, created_by, created_at)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s)",
        row,
    )


async def token_list(connection: Connection, after: str | None, limit: int) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_TOKEN} FROM enrolment_tokens WHERE id < coalesce(%s, 'zzz') ORDER BY id DESC LIMIT %s",
        (after, limit),
    )
    return await cursor.fetchall()


async def token_revoke(connection: Connection, token_id: str, now: datetime) -> bool:
    """False when there is no such token; revoking twice is once."""
    cursor = await connection.execute(
        "UPDATE enrolment_tokens SET revoked_at = coalesce(revoked_at, %s) WHERE id = %s RETURNING id",
        (now, token_id),
    )
    return await cursor.fetchone() is not None


async def token_lock(connection: Connection, token_sha256: bytes) -> DictRow | None:
    """Locked until the commit: two hosts with one single-use token meet here, and one of them loses."""
    cursor = await connection.execute(
        f"SELECT {_TOKEN} FROM enrolment_tokens WHERE token_sha256 = %s FOR UPDATE", (token_sha256,)
    )
    return await cursor.fetchone()


async def use_of_key(connection: Connection, token_id: str, public_key: bytes) -> str | None:
    cursor = await connection.execute(
        "SELECT node_id FROM enrolment_uses WHERE token_id = %s AND public_key = %s", (token_id, public_key)
    )
    row = await cursor.fetchone()
    return row["node_id"] if row else None


async def use_insert(connection: Connection, token_id: str, public_key: bytes, node_id: str, now: datetime) -> None:
    await connection.execute(
        "INSERT INTO enrolment_uses (token_id, public_key, node_id, used_at) VALUES (%s, %s, %s, %s)",
        (token_id, public_key, node_id, now),
    )
    await connection.execute("UPDATE enrolment_tokens SET uses = uses + 1 WHERE id = %s", (token_id,))


async def tokens_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    """Expired before then, with their uses; the nodes stay."""
    cursor = await connection.execute(
        "SELECT id FROM enrolment_tokens WHERE expires_at < %s ORDER BY expires_at LIMIT %s FOR UPDATE",
        (before, portion),
    )
    ids = [row["id"] for row in await cursor.fetchall()]
    await connection.execute("DELETE FROM enrolment_uses WHERE token_id = ANY(%s)", (ids,))
    await connection.execute("DELETE FROM enrolment_tokens WHERE id = ANY(%s)", (ids,))
    return len(ids)
