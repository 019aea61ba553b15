"""Reconcilers of nodes: liveness, ONE recurring work row that looks at all nodes with one set-based query and marks who fell
silent; maintenance, which begins and ends the window of a node in time; and drain, which begins a planned drain.

Liveness also sweeps what agents leave behind: old nonces, and tasks whose deadline passed without a result.
"""

from datetime import datetime, timedelta

from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.capacity import service as capacity
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.nodes import drain, liveness_queries, maintenance, maintenance_queries, queries
from gpuaas_server.nodes.hooks import HostChange, node_hooks
from gpuaas_server.nodes.machine import (
    KIND,
    DrainStep,
    FleetPulse,
    LivenessVerdict,
    NodePulse,
    WindowStep,
    decide_drain,
    decide_liveness,
    decide_window,
)
from gpuaas_server.nodes.rows import MaintenanceWindowRow, NodeRow

LISTENER_FRESH = timedelta(seconds=15)
NONCE_LIFE = timedelta(minutes=3)  # twice the allowed skew, and some more
LISTENER_LIFE = timedelta(days=1)


class NodeLivenessReconciler:
    kind = KIND

    def __init__(self, platform: Platform) -> None:
        seconds = platform.settings.node_lost_seconds
        self._silence_limit = timedelta(seconds=seconds)
        self._interval = timedelta(seconds=max(1.0, min(5.0, seconds / 5)))
        self._clock = platform.clock

    async def load(self, connection: Connection, subject: str) -> FleetPulse:
        now = self._clock()
        rows = await liveness_queries.liveness_crossings(connection, now - self._silence_limit)
        since = await liveness_queries.listening_since(connection, now - LISTENER_FRESH)
        pulses = tuple(NodePulse(row.id, row.last_seen_at, row.lost_since) for row in rows)
        return FleetPulse(pulses, since)

    def decide(self, snapshot: FleetPulse, now: datetime) -> LivenessVerdict:
        return decide_liveness(snapshot, now, self._silence_limit)

    async def apply(self, tx: Tx, snapshot: FleetPulse, decision: LivenessVerdict) -> datetime:
        await _mark(tx, decision.lost, tx.now, "node.lost")
        await _mark(tx, decision.back, None, "node.back")
        await host_tasks.tasks_expire(tx)
        await liveness_queries.sweep(tx.connection, tx.now - NONCE_LIFE, tx.now - LISTENER_LIFE)
        return tx.now + self._interval


async def _mark(tx: Tx, node_ids: tuple[str, ...], lost_since: datetime | None, event: str) -> None:
    if not node_ids:
        return
    rows = await liveness_queries.nodes_mark(tx.connection, sorted(node_ids), lost_since)
    if rows:  # before capacity's locks: the reconciler of allocations takes its work rows before those too
        await node_hooks().host_changed(tx, HostChange(event.removeprefix("node."), [row.id for row in rows]))
    for row in rows:
        await capacity.node_eligibility_set(tx, row.id, lost_since is None and not row.cordoned)
    if rows:
        await events.emit(tx, *(NewEvent(event, row.id) for row in rows))
        await audit.record(tx, *(AuditEntry(event.replace(".", "_"), row.id) for row in rows))


@dataclass(frozen=True, slots=True)
class LiveWindow:
    """The node's row, locked, and its window."""

    node: NodeRow
    window: MaintenanceWindowRow


class MaintenanceReconciler:
    kind = maintenance.WORK

    async def load(self, connection: Connection, subject: str) -> LiveWindow | None:
        node = await queries.node_lock(connection, subject)
        window = await maintenance_queries.window_live(connection, subject)
        return None if node is None or window is None else LiveWindow(node, window)

    def decide(self, live: LiveWindow, now: datetime) -> WindowStep:
        return decide_window(live.window.state, live.window.starts_at, live.window.ends_at, now)

    async def apply(self, tx: Tx, live: LiveWindow, step: WindowStep) -> datetime | None:
        if step.state == "active":
            await maintenance.start_window(tx, live.node, live.window)
        elif step.state == "ended":
            await maintenance.end_window(tx, live.node, live.window)
        return step.again_at


@dataclass(frozen=True, slots=True)
class PlannedDrain:
    """The node's row, locked, and when its drain begins."""

    node: NodeRow
    drain_at: datetime


class DrainReconciler:
    kind = drain.WORK

    async def load(self, connection: Connection, subject: str) -> PlannedDrain | None:
        node = await queries.node_lock(connection, subject)
        return None if node is None or node.drain_at is None else PlannedDrain(node, node.drain_at)

    def decide(self, planned: PlannedDrain, now: datetime) -> DrainStep:
        return decide_drain(planned.drain_at, now)

    async def apply(self, tx: Tx, planned: PlannedDrain, step: DrainStep) -> datetime | None:
        if step.begins:
            node = planned.node
            by = node.maintenance_by or tx.actor.id
            await drain.start_drain(tx, node, node.maintenance_reason or "drain", by, "node_drain_start")
        return step.again_at
