"""SQL of the platform's own keys."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import columns_of, fetch_all, fetch_optional, values_insert, values_of
from gpuaas_server.pki.rows import KeyRecord, LiveKey, PlatformKeyRow, PublishedKey, SealedPrivateKey

_PUBLISHED = "id AS kid, kind, public_key AS ssh_line, certificate, signs_from"
_KEY_LOCK = 0x6770_7561_6B65_79  # "gpuakey": any constant will do, as long as all replicas use the same


async def platform_keys_lock(connection: Connection) -> None:
    """Let one transaction at a time make keys, so that two first users do not make two keys."""
    cursor = await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_KEY_LOCK,))
    await cursor.fetchone()


async def platform_keys_live(connection: Connection, kind: str) -> list[LiveKey]:
    return await fetch_all(
        connection,
        LiveKey,
        f"SELECT {columns_of(LiveKey)} FROM platform_keys WHERE kind = %s AND retired_at IS NULL ORDER BY id DESC",
        (kind,),
    )


async def platform_keys_public(connection: Connection, kinds: Sequence[str]) -> list[PublishedKey]:
    return await fetch_all(
        connection,
        PublishedKey,
        f"SELECT {_PUBLISHED} FROM platform_keys WHERE kind = ANY(%s) AND retired_at IS NULL ORDER BY id DESC",
        (list(kinds),),
    )


_PLATFORM_KEY = (
    "id, kind, public_key, certificate, signs_from, created_at, retired_at, sealed_private_key IS NOT NULL AS sealed,"
    " CASE WHEN retired_at IS NOT NULL THEN 'retired' WHEN signs_from > %(now)s THEN 'next'"
    " WHEN EXISTS (SELECT 1 FROM platform_keys n WHERE n.kind = k.kind AND n.id > k.id AND n.retired_at IS NULL"
    " AND n.signs_from <= %(now)s) THEN 'trusted' ELSE 'active' END AS state"
)


async def platform_key_list(connection: Connection, now: datetime, page: PageRequest) -> list[KeyRecord]:
    statement = f"SELECT {_PLATFORM_KEY} FROM platform_keys k WHERE true"
    return await fetch_page(connection, KeyRecord, statement, {"now": now}, page)


async def platform_key_show(connection: Connection, now: datetime, kid: str) -> KeyRecord | None:
    return await fetch_optional(
        connection,
        KeyRecord,
        f"SELECT {_PLATFORM_KEY} FROM platform_keys k WHERE id = %(kid)s",
        {"now": now, "kid": kid},
    )


async def platform_key_newer(connection: Connection, kind: str, kid: str) -> list[PublishedKey]:
    """List living keys of the kind that were made after this one."""
    return await fetch_all(
        connection,
        PublishedKey,
        f"SELECT {_PUBLISHED} FROM platform_keys WHERE kind = %s AND id > %s AND retired_at IS NULL ORDER BY id",
        (kind, kid),
    )


async def platform_key_retire(connection: Connection, kid: str, now: datetime) -> None:
    await connection.execute(
        "UPDATE platform_keys SET retired_at = %s, sealed_private_key = NULL WHERE id = %s", (now, kid)
    )


async def platform_key_insert(connection: Connection, row: PlatformKeyRow) -> None:
    await connection.execute(values_insert("platform_keys", PlatformKeyRow), values_of(row))


async def platform_keys_sealed(connection: Connection) -> list[SealedPrivateKey]:
    """List the private keys that an older release left under the master key."""
    return await fetch_all(
        connection,
        SealedPrivateKey,
        f"SELECT {columns_of(SealedPrivateKey)} FROM platform_keys WHERE sealed_private_key IS NOT NULL ORDER BY id",
    )


async def platform_key_moved(connection: Connection, kid: str) -> bool:
    """Remove the sealed key that was moved; return False when it was moved or retired meanwhile."""
    cursor = await connection.execute(
        "UPDATE platform_keys SET sealed_private_key = NULL WHERE id = %s AND sealed_private_key IS NOT NULL RETURNING id",
        (kid,),
    )
    return await cursor.fetchone() is not None
