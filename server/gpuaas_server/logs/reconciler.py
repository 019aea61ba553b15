"""The reconciler of log reads: it tells the waiting process that its host has refused, and removes the task afterwards."""

from datetime import datetime, timedelta

from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.host_tasks.service import TaskRow
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.logs import service
from gpuaas_server.work.reconcilers import Wait

# A task is over by its deadline; the reader may look at its failure for a moment longer.
KEPT = timedelta(seconds=30)


class LogReadReconciler:
    kind = service.WORK

    async def load(self, connection: Connection, subject: str) -> TaskRow | None:
        return (await host_tasks.newest_tasks(connection, [subject])).get(subject)

    def decide(self, snapshot: TaskRow, now: datetime) -> Wait:
        until = snapshot.deadline + KEPT
        return Wait(until) if now < until else Wait()

    async def apply(self, tx: Tx, snapshot: TaskRow, decision: Wait) -> datetime | None:
        if snapshot.status != "pending":
            tx.wakeups.add(service.topic(snapshot.resource_id))
        if decision.until is None:
            await host_tasks.tasks_forget_of(tx, [snapshot.resource_id])
        return decision.until
