"""Decides which key wraps data keys now, and how: built in (under the master key) or by the external store's transit engine.

Both are always readable, whichever one new secrets go to: a change of the setting leaves nothing behind that cannot be opened.
"""

import os

from cryptography.exceptions import InvalidTag

from gpuaas_server.kernel.context import Platform, Tx, system_actor
from gpuaas_server.kernel.database import PLATFORM, Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.sealer import Sealer
from gpuaas_server.secrets import queries
from gpuaas_server.secrets.envelope import SecretRef, unreadable
from gpuaas_server.secrets.openbao import OpenBao
from gpuaas_server.secrets.rows import SealedWrappingKey


@dataclass(frozen=True, slots=True)
class WrappingKey:
    """A key that wraps data keys, opened."""

    id: str
    backend: str
    version: int
    key: Sealer | None  # None: it never leaves the external store


async def current_key(platform: Platform) -> WrappingKey:
    """Return the key for new secrets, made at first use. Call it before a transaction, not inside."""
    backend = platform.settings.custody_backend
    async with platform.database.connection(PLATFORM) as connection:
        row = await queries.key_current(connection, backend)
    if row is not None:
        return open_key(platform, row)
    version = await OpenBao(platform.settings).key_version() if backend == "openbao" else None
    async with platform.transaction(PLATFORM, system_actor("secret-keys")) as tx:
        await queries.keys_lock(tx.connection)
        row = await queries.key_current(tx.connection, backend)
        return open_key(platform, row) if row is not None else await key_create(tx, platform, version)


async def key_create(tx: Tx, platform: Platform, external_version: int | None) -> WrappingKey:
    """Make the next key of the configured backend. Caller must hold the lock. An external key was made where it lives."""
    backend, key_id, sealed = platform.settings.custody_backend, new_id("sek"), None
    version = external_version or 1 + await queries.key_last_version(tx.connection, backend)
    if external_version is None:
        sealed = platform.sealer.seal(os.urandom(32), _purpose(key_id))
    await queries.key_insert(tx.connection, key_id, backend, version, sealed, tx.now)
    return open_key(platform, SealedWrappingKey(key_id, backend, version, sealed))


def open_key(platform: Platform, row: SealedWrappingKey) -> WrappingKey:
    key = None
    if row.sealed_key is not None:
        key = Sealer(platform.sealer.open(row.sealed_key, _purpose(row.id)))
    return WrappingKey(row.id, row.backend, row.version, key)


async def find_key(platform: Platform, connection: Connection, key_id: str) -> WrappingKey | None:
    """Return the key, or None when it was retired: what it protected is under another one by now."""
    row = await queries.key_find(connection, key_id)
    return None if row is None or row.retired_at is not None else open_key(platform, row)


async def wrap(platform: Platform, key: WrappingKey, ref: SecretRef, data_key: bytes) -> bytes:
    if key.key is None:
        return await OpenBao(platform.settings).wrap(data_key, ref.key_purpose, key.version)
    return key.key.seal(data_key, ref.key_purpose)


async def unwrap(platform: Platform, key: WrappingKey, ref: SecretRef, wrapped: bytes) -> bytes:
    if key.key is None:
        data_key = await OpenBao(platform.settings).unwrap(wrapped, ref.key_purpose)
        if data_key is None:
            raise unreadable(ref)
        return data_key
    try:
        return key.key.open(wrapped, ref.key_purpose)
    except InvalidTag as error:
        raise unreadable(ref) from error


def _purpose(key_id: str) -> str:
    return f"secret-key:{key_id}"
