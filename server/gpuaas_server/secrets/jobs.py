"""The jobs of secrets: data keys are wrapped anew after a rotation, destroyed values are erased in the external store, and
private keys of an older release get into custody.
"""

from collections.abc import Mapping
from datetime import datetime

from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import PLATFORM, Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.secrets import backends, private_key_queries, private_keys, queries
from gpuaas_server.secrets.envelope import SecretRef
from gpuaas_server.secrets.keys import REWRAP
from gpuaas_server.secrets.private_keys import KeySource, PreparedPrivateKey, SealedKey
from gpuaas_server.secrets.rows import VersionToErase
from gpuaas_server.secrets.service import ERASE, versions_erase

PORTION = 100


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """A wrapped data key, and the key that wraps it."""

    ref: SecretRef
    key_id: str
    wrapped: bytes
    private: bool = False  # of a private key of the platform, not of a secret


@dataclass(frozen=True, slots=True)
class RewrapSnapshot:
    """The data keys that have to be wrapped anew."""

    current_id: str  # empty: the configured backend has no key yet, while another backend still protects data keys
    behind: tuple[WrappedKey, ...]  # a portion of what is not under the current key


@dataclass(frozen=True, slots=True)
class RewrapOutcome:
    """The data keys that were wrapped anew."""

    rewrapped: tuple[tuple[WrappedKey, bytes], ...] = ()  # the old wrapped key, and the key as wrapped now
    last: bool = True


class SecretRewrapJob:
    """Wraps data keys anew until all are under the current key. It can be killed at any point: each row changes by itself."""

    kind = REWRAP

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def load(self, connection: Connection, subject: str) -> RewrapSnapshot | None:
        row = await queries.key_current(connection, self._platform.settings.custody_backend)
        current_id = "" if row is None else row.id
        behind = await _load_outdated_keys(connection, current_id)
        return RewrapSnapshot(current_id, behind) if current_id or behind else None

    async def act(self, platform: Platform, snapshot: RewrapSnapshot) -> RewrapOutcome:
        current = await backends.current_key(platform)
        if current.id != snapshot.current_id:
            return RewrapOutcome(last=False)  # rotated again meanwhile: look afresh
        done = [(one, await _rewrap(platform, current, one)) for one in snapshot.behind]
        rewrapped = tuple((one, wrapped) for one, wrapped in done if wrapped is not None)
        return RewrapOutcome(rewrapped, last=len(snapshot.behind) < PORTION)

    async def apply(self, tx: Tx, snapshot: RewrapSnapshot, outcome: RewrapOutcome) -> datetime | None:
        for one, wrapped in outcome.rewrapped:
            await _store(tx, one, snapshot.current_id, wrapped)
        if not outcome.last:
            return tx.now
        retired = await queries.keys_retire_unused(tx.connection, snapshot.current_id, tx.now)
        if retired:
            await audit.record(tx, *(AuditEntry("secret_key_retire", key_id) for key_id in retired))
        return None


async def _load_outdated_keys(connection: Connection, current_id: str) -> tuple[WrappedKey, ...]:
    """Return a portion of what is under other keys: secrets first, then the platform's own private keys."""
    secrets = await queries.versions_under_other_keys(connection, current_id, PORTION)
    found = [WrappedKey(SecretRef(row.id, row.version), row.key_id, row.wrapped_key) for row in secrets]
    if len(found) < PORTION:
        own = await private_key_queries.private_keys_under_other_keys(connection, current_id, PORTION - len(found))
        found += [WrappedKey(SecretRef(row.id, row.version), row.key_id, row.wrapped_key, private=True) for row in own]
    return tuple(found)


async def _store(tx: Tx, one: WrappedKey, current_id: str, wrapped: bytes) -> None:
    owner = one.ref.secret_id
    if one.private:
        await private_key_queries.private_key_rewrap(tx.connection, owner, one.key_id, current_id, wrapped)
    else:
        await queries.version_rewrap(tx.connection, owner, one.ref.version, one.key_id, current_id, wrapped)


async def _rewrap(platform: Platform, current: backends.WrappingKey, one: WrappedKey) -> bytes | None:
    async with platform.database.connection(PLATFORM) as connection:
        old = await backends.find_key(platform, connection, one.key_id)
    if old is None:
        return None
    data_key = await backends.unwrap(platform, old, one.ref, one.wrapped)
    return await backends.wrap(platform, current, one.ref, data_key)


@dataclass(frozen=True, slots=True)
class Erasure:
    """The versions of a secret that the external store has to erase."""

    secret_id: str
    versions: list[VersionToErase]


class SecretEraseJob:
    """Erases destroyed versions of the secret in `subject`. It fails, and is tried again, while the store is unavailable."""

    kind = ERASE

    async def load(self, connection: Connection, subject: str) -> Erasure:
        return Erasure(subject, await queries.versions_to_erase(connection, subject))

    async def act(self, platform: Platform, snapshot: Erasure) -> None:
        await versions_erase(platform, snapshot.secret_id, snapshot.versions)

    async def apply(self, tx: Tx, snapshot: Erasure, outcome: None) -> None:
        erased = [one.version for one in snapshot.versions]
        await queries.versions_erased(tx.connection, snapshot.secret_id, erased, tx.now)


@dataclass(frozen=True, slots=True)
class CustodySnapshot:
    """The keys of one source that are still under the master key."""

    subject: str
    sealed: tuple[SealedKey, ...]


class KeyCustodyJob:
    """Moves private keys that an older release sealed under the master key to the secret store's key. The subject names their
    source.

    Each key is moved by itself: its envelope is stored in the transaction that empties the old place, so a kill at any
    moment leaves it readable in one of the two. While the store is unavailable nothing changes, and the work is retried.
    """

    kind = "key_custody"

    def __init__(self, platform: Platform, sources: Mapping[str, KeySource]) -> None:
        self._platform = platform
        self.sources = sources

    async def load(self, connection: Connection, subject: str) -> CustodySnapshot | None:
        sealed = tuple(await self.sources[subject].list_sealed(connection))
        return CustodySnapshot(subject, sealed) if sealed else None

    async def act(self, platform: Platform, snapshot: CustodySnapshot) -> tuple[PreparedPrivateKey, ...]:
        prepared = []
        for key in snapshot.sealed:
            clear = platform.sealer.open(key.sealed, key.purpose)
            prepared.append(await private_keys.private_key_prepare(platform, key.id, clear))
        return tuple(prepared)

    async def apply(self, tx: Tx, snapshot: CustodySnapshot, outcome: tuple[PreparedPrivateKey, ...]) -> None:
        for prepared in outcome:
            if await self.sources[snapshot.subject].mark_moved(tx.connection, prepared.owner_id):
                await private_keys.private_key_store(tx, prepared)
                details: dict[str, object] = {"secret_key": prepared.key_id}
                await audit.record(tx, AuditEntry("private_key_move", prepared.owner_id, details=details))
