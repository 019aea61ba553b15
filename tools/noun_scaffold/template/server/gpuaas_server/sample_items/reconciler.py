"""The reconciler of sample items: it moves them on when their time in a state is over."""

from datetime import datetime

from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.sample_items import machine, queries, service
from gpuaas_server.sample_items.machine import Move, Snapshot
from gpuaas_server.sample_items.rows import SampleItemRow
from gpuaas_server.work.reconcilers import Wait


class SampleItemReconciler:
    kind = service.WORK

    async def load(self, connection: Connection, subject: str) -> SampleItemRow | None:
        return await queries.sample_item_lock(connection, subject)

    def decide(self, row: SampleItemRow, now: datetime) -> Move | Wait:
        return machine.decide(Snapshot(row.state, row.state_since), now)

    async def apply(self, tx: Tx, row: SampleItemRow, decision: Move | Wait) -> datetime | None:
        if isinstance(decision, Wait):
            return decision.until
        await service.sample_item_move(tx, row.id, decision.state)
        return tx.now
