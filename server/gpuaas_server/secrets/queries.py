"""All SQL of secrets and of the keys that wrap them."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import (
    columns_of,
    fetch_all,
    fetch_optional,
    fetch_value,
    fetch_values,
    values_insert,
    values_of,
)
from gpuaas_server.secrets.rows import (
    DestroyedVersion,
    ListedKey,
    NewSecretVersion,
    SecretVersion,
    VersionToErase,
    WrappedVersion,
    WrappingKeyRow,
)

_KEYS_LOCK = 0x6770_7561_7365_63  # "gpuasec": any constant will do, as long as all replicas use the same


async def keys_lock(connection: Connection) -> None:
    """Wait until no other replica makes a key; the lock ends with the transaction."""
    cursor = await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_KEYS_LOCK,))
    await cursor.fetchone()


async def key_current(connection: Connection, backend: str) -> WrappingKeyRow | None:
    return await fetch_optional(
        connection,
        WrappingKeyRow,
        f"SELECT {columns_of(WrappingKeyRow)} FROM secret_keys WHERE backend = %s AND retired_at IS NULL"
        " ORDER BY version DESC LIMIT 1",
        (backend,),
    )


async def key_find(connection: Connection, key_id: str) -> WrappingKeyRow | None:
    return await fetch_optional(
        connection,
        WrappingKeyRow,
        f"SELECT {columns_of(WrappingKeyRow)} FROM secret_keys WHERE id = %s",
        (key_id,),
    )


async def key_last_version(connection: Connection, backend: str) -> int:
    last = await fetch_value(connection, int, "SELECT max(version) FROM secret_keys WHERE backend = %s", (backend,))
    return last or 0


async def key_insert(
    connection: Connection, key_id: str, backend: str, version: int, sealed_key: bytes | None, now: datetime
) -> None:
    await connection.execute(
        "INSERT INTO secret_keys (id, backend, version, sealed_key, created_at) VALUES (%s, %s, %s, %s, %s)",
        (key_id, backend, version, sealed_key, now),
    )


async def key_list(connection: Connection, page: PageRequest) -> list[ListedKey]:
    """Return the wrapping keys, newest first."""
    statement = f"SELECT {columns_of(ListedKey, 'k')} FROM secret_keys k WHERE true"
    return await fetch_page(connection, ListedKey, statement, (), page)


async def key_share(connection: Connection, key_id: str) -> bool:
    """Tell whether the key is alive; if so it stays alive until the transaction ends."""
    cursor = await connection.execute(
        "SELECT id FROM secret_keys WHERE id = %s AND retired_at IS NULL FOR SHARE", (key_id,)
    )
    return await cursor.fetchone() is not None


async def keys_retire_unused(connection: Connection, current_id: str, now: datetime) -> list[str]:
    """Destroy the keys that protect nothing any more, except the current one. The answer has their ids.

    It takes two statements: whoever stores a secret under a key locks its row, so the snapshot of the second statement, taken
    when all these rows are locked here, shows every secret that will ever be under them.
    """
    locked = await fetch_values(
        connection,
        str,
        "SELECT id FROM secret_keys WHERE id <> %s AND retired_at IS NULL ORDER BY id FOR UPDATE",
        (current_id,),
    )
    retired = await fetch_values(
        connection,
        str,
        "UPDATE secret_keys k SET retired_at = %s, sealed_key = NULL WHERE id = ANY(%s)"
        " AND NOT EXISTS (SELECT 1 FROM secrets s WHERE s.key_id = k.id AND s.destroyed_at IS NULL)"
        " AND NOT EXISTS (SELECT 1 FROM platform_private_keys p WHERE p.key_id = k.id) RETURNING id",
        (now, locked),
    )
    return sorted(retired)


async def secret_insert(connection: Connection, row: NewSecretVersion) -> None:
    await connection.execute(values_insert("secrets", NewSecretVersion), values_of(row))


async def secret_find(connection: Connection, secret_id: str, version: int) -> SecretVersion | None:
    return await fetch_optional(
        connection,
        SecretVersion,
        f"SELECT {columns_of(SecretVersion)} FROM secrets WHERE id = %s AND version = %s",
        (secret_id, version),
    )


async def versions_destroy(connection: Connection, secret_id: str, up_to: int, now: datetime) -> list[DestroyedVersion]:
    """Destroy the live versions up to this one. The answer has each of them."""
    return await fetch_all(
        connection,
        DestroyedVersion,
        "UPDATE secrets SET destroyed_at = %s, wrapped_key = NULL, sealed_value = NULL"
        " WHERE id = %s AND version <= %s AND destroyed_at IS NULL RETURNING id, kept_in",
        (now, secret_id, up_to),
    )


async def project_secrets_destroy(
    connection: Connection, project_id: str, now: datetime, portion: int
) -> list[DestroyedVersion]:
    """Destroy a portion of the project's live versions. The answer has each of them."""
    return await fetch_all(
        connection,
        DestroyedVersion,
        "UPDATE secrets s SET destroyed_at = %s, wrapped_key = NULL, sealed_value = NULL FROM (SELECT id, version"
        " FROM secrets WHERE project_id = %s AND destroyed_at IS NULL ORDER BY id, version LIMIT %s) p"
        " WHERE s.id = p.id AND s.version = p.version RETURNING s.id, s.kept_in",
        (now, project_id, portion),
    )


async def project_secrets_unerased(connection: Connection, project_id: str) -> int:
    """Return the number of versions that may still lie in the external store."""
    unerased = await fetch_value(
        connection,
        int,
        "SELECT count(*) FROM secrets WHERE project_id = %s AND kept_in = 'openbao' AND erased_at IS NULL",
        (project_id,),
    )
    return unerased or 0


async def versions_to_erase(connection: Connection, secret_id: str) -> list[VersionToErase]:
    return await fetch_all(
        connection,
        VersionToErase,
        "SELECT version, store_name FROM secrets WHERE id = %s AND kept_in = 'openbao' AND destroyed_at IS NOT NULL"
        " AND erased_at IS NULL ORDER BY version",
        (secret_id,),
    )


async def versions_erased(connection: Connection, secret_id: str, versions: Sequence[int], now: datetime) -> None:
    await connection.execute(
        "UPDATE secrets SET erased_at = %s WHERE id = %s AND version = ANY(%s)", (now, secret_id, list(versions))
    )


async def versions_under_other_keys(connection: Connection, current_id: str, portion: int) -> list[WrappedVersion]:
    return await fetch_all(
        connection,
        WrappedVersion,
        f"SELECT {columns_of(WrappedVersion, 's')} FROM secret_keys k JOIN secrets s ON s.key_id = k.id"
        " WHERE k.id <> %s AND k.retired_at IS NULL AND s.destroyed_at IS NULL ORDER BY s.key_id, s.id LIMIT %s",
        (current_id, portion),
    )


async def version_rewrap(
    connection: Connection, secret_id: str, version: int, before: str, key_id: str, wrapped_key: bytes
) -> None:
    """Store the newly wrapped data key. Nothing changes when the version was destroyed or wrapped anew meanwhile."""
    await connection.execute(
        "UPDATE secrets SET key_id = %s, wrapped_key = %s"
        " WHERE id = %s AND version = %s AND key_id = %s AND destroyed_at IS NULL",
        (key_id, wrapped_key, secret_id, version, before),
    )
