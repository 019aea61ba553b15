"""The platform's own private keys in custody: each is sealed under a data key, which the secret store's key wraps.

The sealed key lies in our database whatever the backend; with an external store, nobody opens it without that store's
transit engine. A process opens each key once and keeps it in its memory, so no signature ever asks the external store.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.secrets import backends, envelope, private_key_queries, queries
from gpuaas_server.secrets.envelope import SecretRef
from gpuaas_server.secrets.rows import NewPrivateKey

log = logging.getLogger(__name__)
STORE_AWAY_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class SealedKey:
    """A private key that is sealed under the master key."""

    id: str
    purpose: str
    sealed: bytes


@dataclass(frozen=True, slots=True)
class KeySource:
    """A table with such keys: lists them, and marks one as moved (False: another worker was faster)."""

    list_sealed: Callable[[Connection], Awaitable[list[SealedKey]]]
    mark_moved: Callable[[Connection, str], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class PreparedPrivateKey:
    """A sealed private key that a transaction may store."""

    owner_id: str
    key_id: str
    wrapped_key: bytes
    sealed_value: bytes


@dataclass(frozen=True, slots=True)
class Custody:
    """Tells administrators what protects a private key."""

    backend: Literal["builtin", "openbao", "master_key", "destroyed"]
    secret_key_id: str | None


# A key of an older release, until the worker has moved it.
UNDER_MASTER_KEY = Custody("master_key", None)
DESTROYED = Custody("destroyed", None)


async def private_key_prepare(platform: Platform, owner_id: str, clear: bytes) -> PreparedPrivateKey:
    """Seal a private key. Call it before a transaction, not inside: it may ask the external store."""
    ref, key, data_key = SecretRef(owner_id, 1), await backends.current_key(platform), envelope.new_data_key()
    wrapped = await backends.wrap(platform, key, ref, data_key)
    return PreparedPrivateKey(owner_id, key.id, wrapped, envelope.seal(data_key, ref, clear))


async def private_key_store(tx: Tx, prepared: PreparedPrivateKey) -> None:
    if not await queries.key_share(tx.connection, prepared.key_id):
        raise Problem("secret_store_unavailable", "The keys of the secret store were rotated at the same time.")
    row = NewPrivateKey(prepared.owner_id, prepared.key_id, prepared.wrapped_key, prepared.sealed_value, tx.now)
    await private_key_queries.private_key_insert(tx.connection, row)


async def private_key_open(platform: Platform, connection: Connection, owner_id: str) -> bytes:
    """Return the private key in clear, for the caller's memory only."""
    ref, row = SecretRef(owner_id, 1), await private_key_queries.private_key_find(connection, owner_id)
    if row is None:
        raise envelope.unreadable(ref)
    data_key = await backends.unwrap(platform, backends.open_key(platform, row), ref, row.wrapped_key)
    return envelope.open_sealed(data_key, ref, row.sealed_value)


async def private_keys_destroy(tx: Tx, owner_ids: Sequence[str]) -> None:
    """Destroy private keys. From the commit on nobody can open them."""
    await private_key_queries.private_keys_delete(tx.connection, owner_ids)


async def custody_of(connection: Connection, owner_ids: Sequence[str]) -> dict[str, Custody]:
    """Return what protects each of these keys. A key that is not in custody (yet, or any more) is absent."""
    found = await private_key_queries.custody_of(connection, owner_ids)
    return {row.id: Custody(row.backend, row.key_id) for row in found}


async def await_store(open_keys: Callable[[], Awaitable[None]]) -> None:
    """Call `open_keys` until it succeeds, at start. While the external store is unavailable this waits, and logs that once."""
    waiting = False
    while True:
        try:
            await open_keys()
            break
        except Problem as problem:
            if problem.code != "secret_store_unavailable":
                raise
        if not waiting:
            log.warning("the platform's keys cannot be opened yet: waiting for the secret store")
            waiting = True
        await asyncio.sleep(STORE_AWAY_SECONDS)
    if waiting:
        log.info("the secret store answers; the platform's keys are open")
