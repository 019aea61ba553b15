"""SQL of the platform's own private keys in custody."""

from collections.abc import Sequence

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.rows import fetch_all, fetch_optional, values_insert, values_of
from gpuaas_server.secrets.rows import NewPrivateKey, PrivateKeyCustody, SealedPrivateKey, WrappedVersion


async def private_key_insert(connection: Connection, row: NewPrivateKey) -> None:
    await connection.execute(values_insert("platform_private_keys", NewPrivateKey), values_of(row))


async def private_key_find(connection: Connection, owner_id: str) -> SealedPrivateKey | None:
    return await fetch_optional(
        connection,
        SealedPrivateKey,
        "SELECT k.id, k.backend, k.version, k.sealed_key, p.wrapped_key, p.sealed_value FROM platform_private_keys p"
        " JOIN secret_keys k ON k.id = p.key_id WHERE p.id = %s",
        (owner_id,),
    )


async def private_keys_delete(connection: Connection, owner_ids: Sequence[str]) -> None:
    await connection.execute("DELETE FROM platform_private_keys WHERE id = ANY(%s)", (list(owner_ids),))


async def custody_of(connection: Connection, owner_ids: Sequence[str]) -> list[PrivateKeyCustody]:
    return await fetch_all(
        connection,
        PrivateKeyCustody,
        "SELECT p.id, k.backend, k.id AS key_id FROM platform_private_keys p JOIN secret_keys k ON k.id = p.key_id"
        " WHERE p.id = ANY(%s)",
        (list(owner_ids),),
    )


async def private_keys_under_other_keys(connection: Connection, current_id: str, portion: int) -> list[WrappedVersion]:
    """Return private keys that another key protects. A private key has one version only."""
    return await fetch_all(
        connection,
        WrappedVersion,
        "SELECT p.id, 1 AS version, p.key_id, p.wrapped_key FROM secret_keys k"
        " JOIN platform_private_keys p ON p.key_id = k.id"
        " WHERE k.id <> %s AND k.retired_at IS NULL ORDER BY p.key_id, p.id LIMIT %s",
        (current_id, portion),
    )


async def private_key_rewrap(
    connection: Connection, owner_id: str, before: str, key_id: str, wrapped_key: bytes
) -> None:
    """Store the newly wrapped data key. Nothing changes when the key was destroyed or wrapped anew meanwhile."""
    await connection.execute(
        "UPDATE platform_private_keys SET key_id = %s, wrapped_key = %s WHERE id = %s AND key_id = %s",
        (key_id, wrapped_key, owner_id, before),
    )
