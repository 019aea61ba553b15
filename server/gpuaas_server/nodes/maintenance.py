"""Planned maintenance: tenants are told in advance, the host is cordoned when it begins, and opened again when it ends.

Locks are taken in the worker's order: the work row, the node, the window.
"""

from dataclasses import replace

from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.capacity import service as capacity
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.identity.service import allowed_actions
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.nodes import maintenance_queries as queries
from gpuaas_server.nodes import queries as node_queries
from gpuaas_server.nodes import service
from gpuaas_server.nodes.hooks import HostChange, node_hooks
from gpuaas_server.nodes.rows import MaintenanceWindowRow, NodeRow
from gpuaas_server.nodes.schemas import MaintenanceWindow, MaintenanceWindowPlan
from gpuaas_server.work import leases

WORK = "node_maintenance"  # the subject is the node, which has one live window at most
_POSSIBLE = {"planned": ["maintenance_window_cancel"], "active": ["maintenance_window_end"]}


async def window_plan(tx: Tx, caller: Caller, node_id: str, body: MaintenanceWindowPlan) -> MaintenanceWindow:
    if body.ends_at <= max(tx.now, body.starts_at):
        raise Problem("invalid_request", "ends_at: It must be in the future, and after starts_at.")
    await leases.enqueue(tx, WORK, [node_id], max(tx.now, body.starts_at))
    node = await service.node_lock(tx, node_id, "maintenance_window_plan")
    if (live := await queries.window_live(tx.connection, node_id)) is not None:
        raise Problem("already_exists", f"The node has a maintenance window already: {live.id}, {live.state}.")
    row = MaintenanceWindowRow(
        id=new_id("mtw"),
        node_id=node_id,
        starts_at=body.starts_at,
        ends_at=body.ends_at,
        reason=body.reason,
        cordoned_at=None,
        planned_by=tx.actor.id,
        created_at=tx.now,
    )
    if body.cordon_from_now and not node.cordoned:
        await _cordon(tx, row)
        row = replace(row, cordoned_at=tx.now)
    await queries.window_insert(tx.connection, row)
    await _tell(tx, row, "planned", "maintenance_window_plan", row.reason)
    return await _shown(tx, caller, row.id)


async def window_list(
    connection: Connection, caller: Caller, node_id: str | None, state: str | None, page: PageRequest
) -> Page[MaintenanceWindow]:
    rows = await queries.window_list(connection, node_id, state, page)
    return Page[MaintenanceWindow].of([_window(row, caller) for row in rows], page)


async def window_cancel(tx: Tx, caller: Caller, window_id: str, reason: str) -> MaintenanceWindow:
    node, row = await _lock(tx, window_id, "planned")
    await _finish(tx, node, row, "cancelled", reason)
    await _tell(tx, row, "cancelled", "maintenance_window_cancel", reason)
    return await _shown(tx, caller, window_id)


async def window_end(tx: Tx, caller: Caller, window_id: str) -> MaintenanceWindow:
    node, row = await _lock(tx, window_id, "active")
    await end_window(tx, node, row)
    return await _shown(tx, caller, window_id)


async def start_window(tx: Tx, node: NodeRow, row: MaintenanceWindowRow) -> None:
    """Start the window of a locked node. A node that is cordoned already stays so, for the reason it was cordoned for."""
    cordoned_at = row.cordoned_at
    if not node.cordoned:
        await _cordon(tx, row)
        cordoned_at = tx.now
    await queries.window_start(tx.connection, row.id, cordoned_at, tx.now)
    await _tell(tx, row, "started", "maintenance_window_start", row.reason)


async def end_window(tx: Tx, node: NodeRow, row: MaintenanceWindowRow) -> None:
    await _finish(tx, node, row, "ended", None)
    await _tell(tx, row, "ended", "maintenance_window_end", row.reason)


def is_own_cordon(node: NodeRow, row: MaintenanceWindowRow) -> bool:
    """Tell whether the window cordoned the node, and nobody has given it another reason since."""
    same = node.maintenance_since == row.cordoned_at and node.maintenance_reason == row.reason
    return node.cordoned and not node.draining and node.drain_at is None and same


async def _lock(tx: Tx, window_id: str, state: str) -> tuple[NodeRow, MaintenanceWindowRow]:
    """Lock the node, and return it with the window, if the window is in that state."""
    node_id = await queries.window_node(tx.connection, window_id)
    if node_id is None:
        raise not_found("maintenance window", window_id)
    await leases.enqueue(tx, WORK, [node_id])
    node = await node_queries.node_lock(tx.connection, node_id)
    row = await queries.window_show(tx.connection, window_id)
    if node is None or row is None:
        raise not_found("maintenance window", window_id)
    if row.state != state:
        raise Problem("conflict", f"The maintenance window is {row.state}, not {state}.")
    return node, row


async def _finish(tx: Tx, node: NodeRow, row: MaintenanceWindowRow, state: str, reason: str | None) -> None:
    await queries.window_finish(tx.connection, row.id, state, tx.actor.id, reason, tx.now)
    if not is_own_cordon(node, row):
        return
    await node_queries.node_maintenance_end(tx.connection, row.node_id)
    await capacity.node_eligibility_set(tx, row.node_id, node.lost_since is None)
    await _node_changed(tx, row, "uncordon", None)


async def _cordon(tx: Tx, row: MaintenanceWindowRow) -> None:
    await node_queries.node_maintenance_set(tx.connection, row.node_id, row.reason, row.planned_by, False, tx.now)
    await capacity.node_eligibility_set(tx, row.node_id, False)
    await _node_changed(tx, row, "cordon", row.reason)


async def _node_changed(tx: Tx, row: MaintenanceWindowRow, verb: str, reason: str | None) -> None:
    details: dict[str, object] = {"maintenance_window": row.id}
    await audit.record(tx, AuditEntry(f"node_{verb}", row.node_id, reason=reason, details=details))
    await events.emit(tx, NewEvent(f"node.{verb}ed", row.node_id, data={"reason": reason, **details}))


async def _tell(tx: Tx, row: MaintenanceWindowRow, kind: str, action: str, reason: str) -> None:
    """Write the audit row, and tell the projects on the host and those who watch the node."""
    facts: dict[str, object] = {
        "maintenance_window": row.id,
        "starts_at": row.starts_at.isoformat(),
        "ends_at": row.ends_at.isoformat(),
    }
    change = HostChange(f"maintenance_{kind}", [row.node_id], reason, facts)
    await node_hooks().host_changed(tx, change)
    await audit.record(tx, AuditEntry(action, row.id, reason=reason, details=facts | {"node_id": row.node_id}))
    await events.emit(tx, NewEvent(f"node.maintenance_{kind}", row.node_id, data=facts | {"reason": reason}))


async def _shown(tx: Tx, caller: Caller, window_id: str) -> MaintenanceWindow:
    row = await queries.window_show(tx.connection, window_id)
    if row is None:
        raise not_found("maintenance window", window_id)
    return _window(row, caller)


def _window(row: MaintenanceWindowRow, caller: Caller) -> MaintenanceWindow:
    return MaintenanceWindow(**fields_of(row), allowed_actions=allowed_actions(caller, _POSSIBLE.get(row.state, [])))
