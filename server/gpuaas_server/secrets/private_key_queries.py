"""SQL of the platform's own private keys in custody."""

from collections.abc import Sequence
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection


async def private_key_insert(
    connection: Connection, owner_id: str, key_id: str, wrapped_key: bytes, sealed_value: bytes, now: datetime
) -> None:
    await connection.execute(
        "INSERT INTO platform_private_keys (id, key_id, wrapped_key, sealed_value, created_at) VALUES (%s, %s, %s, %s, %s)",
        (owner_id, key_id, wrapped_key, sealed_value, now),
    )


async def private_key_find(connection: Connection, owner_id: str) -> DictRow | None:
    """With the key that wraps it, as both are at the same moment."""
    cursor = await connection.execute(
        "SELECT p.wrapped_key, p.sealed_value, k.id, k.backend, k.version, k.sealed_key FROM platform_private_keys p"
        " JOIN secret_keys k ON k.id = p.key_id WHERE p.id = %s",
        (owner_id,),
    )
    return await cursor.fetchone()


async def private_keys_delete(connection: Connection, owner_ids: Sequence[str]) -> None:
    await connection.execute("DELETE FROM platform_private_keys WHERE id = ANY(%s)", (list(owner_ids),))


async def custody_of(connection: Connection, owner_ids: Sequence[str]) -> list[DictRow]:
    cursor = await connection.execute(
        "SELECT p.id, k.backend, k.id AS key_id FROM platform_private_keys p JOIN secret_keys k ON k.id = p.key_id"
        " WHERE p.id = ANY(%s)",
        (list(owner_ids),),
    )
    return await cursor.fetchall()


async def private_keys_under_other_keys(connection: Connection, current_id: str, portion: int) -> list[DictRow]:
    cursor = await connection.execute(
        "SELECT p.id, p.key_id, p.wrapped_key FROM secret_keys k JOIN platform_private_keys p ON p.key_id = k.id"
        " WHERE k.id <> %s AND k.retired_at IS NULL ORDER BY p.key_id, p.id LIMIT %s",
        (current_id, portion),
    )
    return await cursor.fetchall()


async def private_key_rewrap(
    connection: Connection, owner_id: str, before: str, key_id: str, wrapped_key: bytes
) -> None:
    """Nothing happens when it was destroyed or wrapped anew meanwhile."""
    await connection.execute(
        "UPDATE platform_private_keys SET key_id = %s, wrapped_key = %s WHERE id = %s AND key_id = %s",
        (key_id, wrapped_key, owner_id, before),
    )
