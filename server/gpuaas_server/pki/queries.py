"""SQL of the platform's own keys."""

from collections.abc import Sequence
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection

_KEY_LOCK = 0x6770_7561_6B65_79  # "gpuakey": any constant will do, as long as all replicas use the same


async def platform_keys_lock(connection: Connection) -> None:
    """One maker at a time, so that two first users do not make two keys."""
    cursor = await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_KEY_LOCK,))
    await cursor.fetchone()


async def platform_keys_live(connection: Connection, kind: str) -> list[DictRow]:
    cursor = await connection.execute(
        "SELECT id, sealed_private_key, certificate, signs_from FROM platform_keys"
        " WHERE kind = %s AND retired_at IS NULL ORDER BY id DESC",
        (kind,),
    )
    return await cursor.fetchall()


async def platform_keys_public(connection: Connection, kinds: Sequence[str]) -> list[DictRow]:
    cursor = await connection.execute(
        "SELECT id, kind, public_key, certificate, signs_from FROM platform_keys"
        " WHERE kind = ANY(%s) AND retired_at IS NULL ORDER BY id DESC",
        (list(kinds),),
    )
    return await cursor.fetchall()


_PLATFORM_KEY = (
    "id, kind, public_key, certificate, signs_from, created_at, retired_at, sealed_private_key IS NOT NULL AS sealed,"
    " CASE WHEN retired_at IS NOT NULL THEN 'retired' WHEN signs_from > %(now)s THEN 'next'"
    " WHEN EXISTS (SELECT 1 FROM platform_keys n WHERE n.kind = k.kind AND n.id > k.id AND n.retired_at IS NULL"
    " AND n.signs_from <= %(now)s) THEN 'trusted' ELSE 'active' END AS state"
)


async def platform_key_list(connection: Connection, now: datetime, after: str | None, limit: int) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_PLATFORM_KEY} FROM platform_keys k WHERE id < coalesce(%(after)s, 'zzz') ORDER BY id DESC"
        " LIMIT %(limit)s",
        {"now": now, "after": after, "limit": limit},
    )
    return await cursor.fetchall()


async def platform_key_show(connection: Connection, now: datetime, kid: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_PLATFORM_KEY} FROM platform_keys k WHERE id = %(kid)s", {"now": now, "kid": kid}
    )
    return await cursor.fetchone()


async def platform_key_newer(connection: Connection, kind: str, kid: str) -> list[DictRow]:
    """Living keys of the kind that were made after this one."""
    cursor = await connection.execute(
        "SELECT id, public_key, certificate, signs_from FROM platform_keys"
        " WHERE kind = %s AND id > %s AND retired_at IS NULL ORDER BY id",
        (kind, kid),
    )
    return await cursor.fetchall()


async def platform_key_retire(connection: Connection, kid: str, now: datetime) -> None:
    await connection.execute(
        "UPDATE platform_keys SET retired_at = %s, sealed_private_key = NULL WHERE id = %s", (now, kid)
    )


async def platform_key_insert(
    connection: Connection,
    kid: str,
    kind: str,
    public_key: str,
    certificate: str | None,
    signs_from: datetime,
    now: datetime,
) -> None:
    await connection.execute(
        "INSERT INTO platform_keys (id, kind, public_key, certificate, signs_from, created_at)"
        " VALUES (%s, %s, %s, %s, %s, %s)",
        (kid, kind, public_key, certificate, signs_from, now),
    )


async def platform_keys_sealed(connection: Connection) -> list[DictRow]:
    """Those that an older release left under the master key."""
    cursor = await connection.execute(
        "SELECT id, kind, sealed_private_key FROM platform_keys WHERE sealed_private_key IS NOT NULL ORDER BY id"
    )
    return await cursor.fetchall()


async def platform_key_moved(connection: Connection, kid: str) -> bool:
    """False when it was moved or retired meanwhile."""
    cursor = await connection.execute(
        "UPDATE platform_keys SET sealed_private_key = NULL WHERE id = %s AND sealed_private_key IS NOT NULL RETURNING id",
        (kid,),
    )
    return await cursor.fetchone() is not None
