"""The reconciler of terminals: it ends those whose host never connected, and those whose api process died."""

from datetime import datetime

from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.nodes import service as nodes
from gpuaas_server.terminals import machine, queries, service
from gpuaas_server.terminals.machine import End, HostTask, Snapshot
from gpuaas_server.terminals.rows import TerminalRow
from gpuaas_server.work.reconcilers import Wait


class TerminalReconciler:
    kind = service.WORK

    async def load(self, connection: Connection, subject: str) -> tuple[str, Snapshot] | None:
        row = await queries.terminal_find(connection, subject)
        if row is None:
            return None
        waits = row.status == "requested" and row.holder is None
        task = (await host_tasks.newest_tasks(connection, [subject])).get(subject) if waits else None
        lost = await nodes.nodes_lost(connection, [row.node_id]) if waits else ()
        return subject, _snapshot(row, task, row.node_id in lost)

    def decide(self, snapshot: tuple[str, Snapshot], now: datetime) -> End | Wait:
        return machine.decide(snapshot[1], now)

    async def apply(self, tx: Tx, snapshot: tuple[str, Snapshot], decision: End | Wait) -> datetime | None:
        if isinstance(decision, Wait):
            return decision.until
        await service.terminals_end(tx, [snapshot[0]], decision)
        return None


def _snapshot(row: TerminalRow, task: host_tasks.TaskRow | None, lost: bool) -> Snapshot:
    return Snapshot(
        status=row.status,
        open_by=row.open_by,
        has_holder=row.holder is not None,
        lease_until=row.lease_until,
        node_lost=lost,
        task=None if task is None else HostTask(task.status, task.failure),
    )
