"""One recurring work row that removes what has served its time."""

from datetime import datetime, timedelta

from gpuaas_server.events import service as events
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.http import idempotency

SUBJECT = "platform"
EVERY = timedelta(minutes=10)


class HousekeepingMachine:
    kind = "housekeeping"

    def __init__(self, platform: Platform) -> None:
        self._retention = timedelta(days=platform.settings.event_retention_days)

    async def load(self, connection: Connection, subject: str) -> str:
        return subject

    def decide(self, snapshot: str, now: datetime) -> datetime:
        """Events from before this moment go."""
        return now - self._retention

    async def act(self, platform: Platform, snapshot: str, decision: datetime) -> datetime:
        return decision

    async def apply(self, tx: Tx, snapshot: str, decision: datetime) -> datetime:
        await idempotency.forget_expired(tx)
        await identity.sessions_forget(tx)
        await events.forget_before(tx, decision)
        return tx.now + EVERY
