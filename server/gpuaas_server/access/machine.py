"""Somebody was disabled or lost their place: end their ways into allocations. A work row of identity asks for it."""

from datetime import datetime

from gpuaas_server.access import service
from gpuaas_server.allocations import service as allocations
from gpuaas_server.identity.service import ACCESS_END
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection


class AccessEndMachine:
    """The subject is the holder: a user or a service account."""

    kind = ACCESS_END

    async def load(self, connection: Connection, subject: str) -> str:
        return subject

    def decide(self, holder: str, now: datetime) -> str:
        return holder

    async def apply(self, tx: Tx, holder: str, decision: str) -> None:
        opened = await service.holder_leaves(tx, None, holder)
        if opened:
            await allocations.access_changed(tx, *opened)
