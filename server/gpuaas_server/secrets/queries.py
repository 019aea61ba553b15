"""All SQL of secrets and of the keys that wrap them."""

from collections.abc import Sequence
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection

_KEYS_LOCK = 0x6770_7561_7365_63  # "gpuasec": any constant will do, as long as all replicas use the same
_KEY = "id, backend, version, created_at, retired_at"


async def keys_lock(connection: Connection) -> None:
    """One maker of keys at a time."""
    cursor = await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_KEYS_LOCK,))
    await cursor.fetchone()


async def key_current(connection: Connection, backend: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_KEY}, sealed_key FROM secret_keys WHERE backend = %s AND retired_at IS NULL"
        " ORDER BY version DESC LIMIT 1",
        (backend,),
    )
    return await cursor.fetchone()


async def key_find(connection: Connection, key_id: str) -> DictRow | None:
    cursor = await connection.execute(f"SELECT {_KEY}, sealed_key FROM secret_keys WHERE id = %s", (key_id,))
    return await cursor.fetchone()


async def key_last_version(connection: Connection, backend: str) -> int:
    cursor = await connection.execute(
        "SELECT coalesce(max(version), 0) AS last FROM secret_keys WHERE backend = %s", (backend,)
    )
    row = await cursor.fetchone()
    return int(row["last"]) if row else 0


async def key_insert(
    connection: Connection, key_id: str, backend: str, version: int, sealed_key: bytes | None, now: datetime
) -> None:
    await connection.execute(
        "INSERT INTO secret_keys (id, backend, version, sealed_key, created_at) VALUES (%s, %s, %s, %s, %s)",
        (key_id, backend, version, sealed_key, now),
    )


async def key_list(connection: Connection, after: str | None, limit: int) -> list[DictRow]:
    """Newest first, with the number of values that each still protects."""
    cursor = await connection.execute(
        f"SELECT {_KEY}, (SELECT count(*) FROM secrets s WHERE s.key_id = k.id AND s.destroyed_at IS NULL)"
        " + (SELECT count(*) FROM platform_private_keys p WHERE p.key_id = k.id) AS protects"
        " FROM secret_keys k WHERE id < coalesce(%s, 'zzz') ORDER BY id DESC LIMIT %s",
        (after, limit),
    )
    return await cursor.fetchall()


async def key_share(connection: Connection, key_id: str) -> bool:
    """Whether the key is alive, and it stays so until the transaction ends."""
    cursor = await connection.execute(
        "SELECT id FROM secret_keys WHERE id = %s AND retired_at IS NULL FOR SHARE", (key_id,)
    )
    return await cursor.fetchone() is not None


async def keys_retire_unused(connection: Connection, current_id: str, now: datetime) -> list[str]:
    """Destroy the keys that protect nothing any more, all but the current one; the ids of those.

    Two statements: who stores a secret under a key holds its row, so the second one's snapshot, taken when all are held by
    us, shows every secret that will ever be under them.
    """
    holding = await connection.execute(
        "SELECT id FROM secret_keys WHERE id <> %s AND retired_at IS NULL ORDER BY id FOR UPDATE", (current_id,)
    )
    held = [row["id"] for row in await holding.fetchall()]
    retiring = await connection.execute(
        "UPDATE secret_keys k SET retired_at = %s, sealed_key = NULL WHERE id = ANY(%s)"
        " AND NOT EXISTS (SELECT 1 FROM secrets s WHERE s.key_id = k.id AND s.destroyed_at IS NULL)"
        " AND NOT EXISTS (SELECT 1 FROM platform_private_keys p WHERE p.key_id = k.id) RETURNING id",
        (now, held),
    )
    return sorted(row["id"] for row in await retiring.fetchall())


async def secret_insert(connection: Connection, row: Sequence[object]) -> None:
    await connection.execute(
        "INSERT INTO secrets (id, version, tenant_id, project_id, purpose, key_id, wrapped_key, sealed_value, kept_in,"
        " created_at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        row,
    )


async def secret_find(connection: Connection, secret_id: str, version: int) -> DictRow | None:
    cursor = await connection.execute(
        "SELECT key_id, wrapped_key, sealed_value, kept_in, destroyed_at FROM secrets WHERE id = %s AND version = %s",
        (secret_id, version),
    )
    return await cursor.fetchone()


async def versions_destroy(connection: Connection, secret_id: str, up_to: int, now: datetime) -> list[DictRow]:
    """Of the versions that were alive: number, and where the value lies."""
    cursor = await connection.execute(
        "UPDATE secrets SET destroyed_at = %s, wrapped_key = NULL, sealed_value = NULL"
        " WHERE id = %s AND version <= %s AND destroyed_at IS NULL RETURNING version, kept_in",
        (now, secret_id, up_to),
    )
    return await cursor.fetchall()


async def versions_to_erase(connection: Connection, secret_id: str) -> list[int]:
    cursor = await connection.execute(
        "SELECT version FROM secrets WHERE id = %s AND kept_in = 'openbao' AND destroyed_at IS NOT NULL"
        " AND erased_at IS NULL ORDER BY version",
        (secret_id,),
    )
    return [row["version"] for row in await cursor.fetchall()]


async def versions_erased(connection: Connection, secret_id: str, versions: Sequence[int], now: datetime) -> None:
    await connection.execute(
        "UPDATE secrets SET erased_at = %s WHERE id = %s AND version = ANY(%s)", (now, secret_id, list(versions))
    )


async def versions_under_other_keys(connection: Connection, current_id: str, portion: int) -> list[DictRow]:
    cursor = await connection.execute(
        "SELECT s.id, s.version, s.key_id, s.wrapped_key FROM secret_keys k JOIN secrets s ON s.key_id = k.id"
        " WHERE k.id <> %s AND k.retired_at IS NULL AND s.destroyed_at IS NULL ORDER BY s.key_id, s.id LIMIT %s",
        (current_id, portion),
    )
    return await cursor.fetchall()


async def version_rewrap(
    connection: Connection, secret_id: str, version: int, before: str, key_id: str, wrapped_key: bytes
) -> None:
    """Nothing happens when it was destroyed or wrapped anew meanwhile."""
    await connection.execute(
        "UPDATE secrets SET key_id = %s, wrapped_key = %s"
        " WHERE id = %s AND version = %s AND key_id = %s AND destroyed_at IS NULL",
        (key_id, wrapped_key, secret_id, version, before),
    )
