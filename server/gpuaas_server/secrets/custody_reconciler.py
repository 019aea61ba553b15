"""The worker moves private keys that an older release sealed under the master key to the secret store's key.

Each key is moved by itself: its envelope is stored in the transaction that empties the old place, so a kill at any
moment leaves it readable in one of the two. While the external store is away nothing changes, and the work is retried.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.secrets import private_keys
from gpuaas_server.secrets.private_keys import PreparedPrivateKey


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
class CustodySnapshot:
    """The keys of one source that are still under the master key."""

    subject: str
    sealed: tuple[SealedKey, ...]


class KeyCustodyReconciler:
    """Moves the keys of one source, which the subject names."""

    kind = "key_custody"

    def __init__(self, platform: Platform, sources: Mapping[str, KeySource]) -> None:
        self._platform = platform
        self.sources = sources

    async def load(self, connection: Connection, subject: str) -> CustodySnapshot | None:
        sealed = tuple(await self.sources[subject].list_sealed(connection))
        return CustodySnapshot(subject, sealed) if sealed else None

    def decide(self, snapshot: CustodySnapshot, now: datetime) -> tuple[PreparedPrivateKey, ...]:
        return ()

    async def act(
        self, platform: Platform, snapshot: CustodySnapshot, decision: tuple[PreparedPrivateKey, ...]
    ) -> tuple[PreparedPrivateKey, ...]:
        prepared = []
        for key in snapshot.sealed:
            clear = platform.sealer.open(key.sealed, key.purpose)
            prepared.append(await private_keys.private_key_prepare(platform, key.id, clear))
        return tuple(prepared)

    async def apply(self, tx: Tx, snapshot: CustodySnapshot, decision: tuple[PreparedPrivateKey, ...]) -> None:
        for prepared in decision:
            if await self.sources[snapshot.subject].mark_moved(tx.connection, prepared.owner_id):
                await private_keys.private_key_store(tx, prepared)
                details: dict[str, object] = {"secret_key": prepared.key_id}
                await audit.record(tx, AuditEntry("private_key_move", prepared.owner_id, details=details))
