"""SQL of the keys that sign access tokens."""

from datetime import datetime

from gpuaas_server.identity.rows import RevokedSigningKey, SealedSigningKey, SigningKeyRow, VerifyingKey
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import columns_of, fetch_all, fetch_optional, fetch_values

_LOCK = 0x6770_7501  # serialises the making of keys across replicas


async def signing_key_lock(connection: Connection) -> None:
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))


async def signing_key_insert(connection: Connection, key_id: str, public: bytes, now: datetime) -> None:
    await connection.execute(
        "INSERT INTO signing_keys (id, public_key, created_at) VALUES (%s, %s, %s)", (key_id, public, now)
    )


async def signing_key_retire(connection: Connection, verifies_until: datetime) -> list[str]:
    """Retire the keys that signed until now; the answer has their ids."""
    return await fetch_values(
        connection,
        str,
        "UPDATE signing_keys SET verifies_until = %s, sealed_private_key = NULL WHERE verifies_until IS NULL"
        " RETURNING id",
        (verifies_until,),
    )


async def signing_key_revoke(connection: Connection, key_id: str, now: datetime) -> RevokedSigningKey | None:
    """Revoke the key: nothing that it signed is good any more. The answer is the row as it was before."""
    return await fetch_optional(
        connection,
        RevokedSigningKey,
        "UPDATE signing_keys k SET verifies_until = LEAST(k.verifies_until, %s), sealed_private_key = NULL FROM signing_keys b"
        f" WHERE k.id = %s AND b.id = k.id RETURNING {columns_of(RevokedSigningKey, 'b')}",
        (now, key_id),
    )


async def signing_key_current(connection: Connection) -> SealedSigningKey | None:
    return await fetch_optional(
        connection,
        SealedSigningKey,
        f"SELECT {columns_of(SealedSigningKey)} FROM signing_keys WHERE verifies_until IS NULL ORDER BY id DESC LIMIT 1",
    )


async def signing_key_verifying(connection: Connection, now: datetime) -> list[VerifyingKey]:
    """Return every key whose tokens are still good."""
    return await fetch_all(
        connection,
        VerifyingKey,
        f"SELECT {columns_of(VerifyingKey)} FROM signing_keys"
        " WHERE verifies_until IS NULL OR verifies_until > %s ORDER BY id DESC",
        (now,),
    )


async def signing_key_list(connection: Connection, page: PageRequest) -> list[SigningKeyRow]:
    statement = f"SELECT {columns_of(SigningKeyRow)} FROM signing_keys WHERE true"
    return await fetch_page(connection, SigningKeyRow, statement, (), page)


async def signing_keys_sealed(connection: Connection) -> list[SealedSigningKey]:
    """Return the keys that an older release left under the master key."""
    return await fetch_all(
        connection,
        SealedSigningKey,
        f"SELECT {columns_of(SealedSigningKey)} FROM signing_keys WHERE sealed_private_key IS NOT NULL ORDER BY id",
    )


async def signing_key_moved(connection: Connection, key_id: str) -> bool:
    """Remove the sealed key that was moved; return False if it was moved or retired meanwhile."""
    cursor = await connection.execute(
        "UPDATE signing_keys SET sealed_private_key = NULL WHERE id = %s AND sealed_private_key IS NOT NULL RETURNING id",
        (key_id,),
    )
    return await cursor.fetchone() is not None
