"""SQL of the keys that sign access tokens."""

from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection

_LOCK = 0x6770_7501  # serialises the making of keys across replicas


async def signing_key_lock(connection: Connection) -> None:
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))


async def signing_key_insert(connection: Connection, key_id: str, public: bytes, now: datetime) -> None:
    await connection.execute(
        "INSERT INTO signing_keys (id, public_key, created_at) VALUES (%s, %s, %s)", (key_id, public, now)
    )


async def signing_key_retire(connection: Connection, verifies_until: datetime) -> list[str]:
    """The keys that signed until now."""
    cursor = await connection.execute(
        "UPDATE signing_keys SET verifies_until = %s, sealed_private_key = NULL WHERE verifies_until IS NULL"
        " RETURNING id",
        (verifies_until,),
    )
    return [row["id"] for row in await cursor.fetchall()]


async def signing_key_revoke(connection: Connection, key_id: str, now: datetime) -> DictRow | None:
    """The row as it was before; nothing that the key signed is good any more."""
    cursor = await connection.execute(
        "UPDATE signing_keys k SET verifies_until = LEAST(k.verifies_until, %s), sealed_private_key = NULL FROM signing_keys b"
        " WHERE k.id = %s AND b.id = k.id RETURNING b.id, b.verifies_until",
        (now, key_id),
    )
    return await cursor.fetchone()


async def signing_key_current(connection: Connection) -> DictRow | None:
    cursor = await connection.execute(
        "SELECT id, sealed_private_key FROM signing_keys WHERE verifies_until IS NULL ORDER BY id DESC LIMIT 1"
    )
    return await cursor.fetchone()


async def signing_key_verifying(connection: Connection, now: datetime) -> list[DictRow]:
    """Every key whose tokens are still good."""
    cursor = await connection.execute(
        "SELECT id, public_key, verifies_until FROM signing_keys"
        " WHERE verifies_until IS NULL OR verifies_until > %s ORDER BY id DESC",
        (now,),
    )
    return await cursor.fetchall()


async def signing_key_list(connection: Connection, after: str | None, limit: int) -> list[DictRow]:
    cursor = await connection.execute(
        "SELECT id, public_key, created_at, verifies_until, sealed_private_key IS NOT NULL AS sealed FROM signing_keys"
        " WHERE %s::text IS NULL OR id < %s ORDER BY id DESC LIMIT %s",
        (after, after, limit),
    )
    return await cursor.fetchall()


async def signing_keys_sealed(connection: Connection) -> list[DictRow]:
    """Those that an older release left under the master key."""
    cursor = await connection.execute(
        "SELECT id, sealed_private_key FROM signing_keys WHERE sealed_private_key IS NOT NULL ORDER BY id"
    )
    return await cursor.fetchall()


async def signing_key_moved(connection: Connection, key_id: str) -> bool:
    """False when it was moved, or signs no more, meanwhile."""
    cursor = await connection.execute(
        "UPDATE signing_keys SET sealed_private_key = NULL WHERE id = %s AND sealed_private_key IS NOT NULL RETURNING id",
        (key_id,),
    )
    return await cursor.fetchone() is not None
