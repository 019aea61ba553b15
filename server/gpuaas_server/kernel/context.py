"""Holds what a running process has (`Platform`), who acts (`Actor`), and one unit of change (`Tx`)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING

from gpuaas_server.kernel.clock import Clock, utc_now
from gpuaas_server.kernel.database import Connection, Database, Scope
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.deferred_writes import DeferredWrites
from gpuaas_server.kernel.sealer import Sealer
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.kernel.wakeups import Wakeups

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    PrivateKey = Ed25519PrivateKey | EllipticCurvePrivateKey

# Called with the generation of a locked row: refuses a change that was prepared against another one (If-Match).
RequireMatch = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Actor:
    """The account, node or part of the platform that does something, as audit rows and events name it."""

    id: str
    kind: str  # user, service_account, node, system, anonymous
    name: str
    tenant_id: str = ""
    correlation_id: str = "-"
    traceparent: str = ""
    address: str = ""
    user_agent: str = ""
    source: str = "system"  # how the request came: api, console, cli, controller, agent; system: there was none


def system_actor(name: str, correlation_id: str = "-") -> Actor:
    return Actor(id="system", kind="system", name=name, correlation_id=correlation_id)


@dataclass(slots=True)
class Tx:
    """One transaction: all of a verb's changes, or none. Wake-ups are sent when it has committed."""

    connection: Connection
    actor: Actor
    now: datetime
    wakeups: set[str] = field(default_factory=set)
    audited: bool = False
    later: DeferredWrites = field(default_factory=DeferredWrites)
    site: str = ""
    replay_check: Callable[[], Awaitable[None]] | None = None  # not done yet

    async def check_replay(self) -> None:
        """End the transaction here when its request was answered before.

        For most verbs this is done before they begin. One that sends statements ahead calls it itself, before it reads an
        answer or changes anything, so that the answers to all of them come together.
        """
        if self.replay_check is not None:
            check, self.replay_check = self.replay_check, None
            await check()

    async def flush(self) -> None:
        """Write deferred rows now: before they are read back, and at the end."""
        statement = self.later.take()
        if statement is not None:
            await self.connection.execute(*statement)


@dataclass(slots=True)
class Platform:
    """Holds what a running process has: settings, database, wake-ups, clock, and its opened keys."""

    settings: Settings
    database: Database
    wakeups: Wakeups
    sealer: Sealer
    clock: Clock = utc_now
    # What works for now and needs somebody's attention, by subject: /readyz tells it.
    warnings: dict[str, str] = field(default_factory=dict)
    # Private keys that this process has opened, by kind and id: opened once, so that no signature asks the secret store.
    private_keys: dict[str, dict[str, "PrivateKey"]] = field(default_factory=dict)

    @asynccontextmanager
    async def transaction(self, scope: Scope, actor: Actor) -> AsyncIterator[Tx]:
        async with self.database.transaction(scope) as connection:
            tx = Tx(connection=connection, actor=actor, now=self.clock(), site=self.settings.site)
            yield tx
            await tx.flush()
        if tx.wakeups:
            self.wakeups.wake(*tx.wakeups)
