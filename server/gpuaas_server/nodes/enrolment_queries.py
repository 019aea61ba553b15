"""All SQL of enrolment tokens and their use."""

from datetime import datetime

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import (
    columns_of,
    fetch_optional,
    fetch_value,
    fetch_values,
    values_insert,
    values_of,
)
from gpuaas_server.nodes.rows import EnrolmentTokenRow

_TOKEN = columns_of(EnrolmentTokenRow)


async def token_insert(connection: Connection, row: EnrolmentTokenRow) -> None:
    await connection.execute(values_insert("enrolment_tokens", EnrolmentTokenRow), values_of(row))


async def token_list(connection: Connection, page: PageRequest) -> list[EnrolmentTokenRow]:
    return await fetch_page(
        connection, EnrolmentTokenRow, f"SELECT {_TOKEN} FROM enrolment_tokens WHERE true", (), page
    )


async def token_revoke(connection: Connection, token_id: str, now: datetime) -> bool:
    """Revoke the token; return False when there is no such token. Revoking twice is no error."""
    cursor = await connection.execute(
        "UPDATE enrolment_tokens SET revoked_at = coalesce(revoked_at, %s) WHERE id = %s RETURNING id",
        (now, token_id),
    )
    return await cursor.fetchone() is not None


async def token_lock(connection: Connection, token_sha256: bytes) -> EnrolmentTokenRow | None:
    """Lock the token until the commit: of two hosts with one single-use token, one loses here."""
    return await fetch_optional(
        connection,
        EnrolmentTokenRow,
        f"SELECT {_TOKEN} FROM enrolment_tokens WHERE token_sha256 = %s FOR UPDATE",
        (token_sha256,),
    )


async def use_of_key(connection: Connection, token_id: str, public_key: bytes) -> str | None:
    statement = "SELECT node_id FROM enrolment_uses WHERE token_id = %s AND public_key = %s"
    return await fetch_value(connection, str, statement, (token_id, public_key))


async def is_use_of_node(connection: Connection, token_id: str, node_id: str) -> bool:
    """Tell whether the node enrolled with this token, with any of its keys. A token has few uses, and few ask this."""
    statement = "SELECT 1 FROM enrolment_uses WHERE token_id = %s AND node_id = %s LIMIT 1"
    return await fetch_value(connection, int, statement, (token_id, node_id)) is not None


async def use_insert(connection: Connection, token_id: str, public_key: bytes, node_id: str, now: datetime) -> None:
    await connection.execute(
        "INSERT INTO enrolment_uses (token_id, public_key, node_id, used_at) VALUES (%s, %s, %s, %s)",
        (token_id, public_key, node_id, now),
    )
    await connection.execute("UPDATE enrolment_tokens SET uses = uses + 1 WHERE id = %s", (token_id,))


async def tokens_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    """Delete tokens that expired before then, with their uses; the nodes stay."""
    ids = await fetch_values(
        connection,
        str,
        "SELECT id FROM enrolment_tokens WHERE expires_at < %s ORDER BY expires_at LIMIT %s FOR UPDATE",
        (before, portion),
    )
    await connection.execute("DELETE FROM enrolment_uses WHERE token_id = ANY(%s)", (ids,))
    await connection.execute("DELETE FROM enrolment_tokens WHERE id = ANY(%s)", (ids,))
    return len(ids)
