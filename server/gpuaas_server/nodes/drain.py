"""Draining a node: its projects have notice first, and then its allocations are released.

Callers have locked the node. Locks are taken in the worker's order: the work row, the node, the allocations.
"""

from datetime import datetime

from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.capacity import service as capacity
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.kernel.context import Tx
from gpuaas_server.nodes import queries
from gpuaas_server.nodes.hooks import HostChange, node_hooks
from gpuaas_server.nodes.rows import NodeRow

WORK = "node_drain"  # the subject is the node


async def needs_notice(tx: Tx, node: NodeRow) -> bool:
    """Tell whether somebody on the node could make use of notice. Who is on a lost host was told, and can save nothing."""
    return node.lost_since is None and await node_hooks().has_live_allocations(tx.connection, node.id)


async def plan_drain(tx: Tx, node: NodeRow, starts_at: datetime, reason: str) -> None:
    """Cordon the node, and tell its projects when their allocations will be released. Planning it again moves it."""
    await capacity.node_eligibility_set(tx, node.id, False)
    await queries.node_maintenance_set(tx.connection, node.id, reason, tx.actor.id, False, tx.now)
    await queries.node_drain_plan(tx.connection, node.id, starts_at)
    facts: dict[str, object] = {"starts_at": starts_at.isoformat()}
    await node_hooks().host_changed(tx, HostChange("drain_planned", [node.id], reason, facts))
    await audit.record(tx, AuditEntry("node_drain", node.id, reason=reason, details=facts))
    await events.emit(tx, NewEvent("node.drain_planned", node.id, data={"reason": reason, **facts}))


async def start_drain(tx: Tx, node: NodeRow, reason: str, by: str, action: str) -> None:
    """Release what is on the node. It becomes ineligible first, so that nothing new lands there; it is drained when no claim is
    live.
    """
    await capacity.node_eligibility_set(tx, node.id, False)
    await queries.node_maintenance_set(tx.connection, node.id, reason, by, True, tx.now)
    await node_hooks().host_changed(tx, HostChange("draining", [node.id], reason))
    released = await node_hooks().release_allocations(tx, node.id, reason)
    details: dict[str, object] = {"allocations": released}
    await audit.record(tx, AuditEntry(action, node.id, reason=reason, details=details))
    await events.emit(tx, NewEvent("node.draining", node.id, data={"reason": reason, **details}))


async def announce_cancelled(tx: Tx, node: NodeRow) -> None:
    """Tell the projects that the drain that was planned does not come. Caller stores what the node becomes instead."""
    if node.drain_at is None:
        return
    facts: dict[str, object] = {"starts_at": node.drain_at.isoformat()}
    await node_hooks().host_changed(tx, HostChange("drain_cancelled", [node.id], None, facts))
    await events.emit(tx, NewEvent("node.drain_cancelled", node.id, data=facts))
