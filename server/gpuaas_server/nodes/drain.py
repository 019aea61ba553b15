"""Drain: cordon a node and ask for the release of what is on it. Apart from service.py: only this reaches allocations."""

from gpuaas_server.allocations import service as allocations
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.capacity import service as capacity
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.kernel.context import Tx
from gpuaas_server.nodes import queries, service
from gpuaas_server.nodes.occupants import HostChange, node_occupants


async def node_drain(tx: Tx, node_id: str, reason: str) -> None:
    """Not eligible first, so that nothing new lands behind the release; drained when no claim is live any more."""
    await service.node_lock(tx, node_id, "node_drain")
    await capacity.node_eligibility_set(tx, node_id, False)
    await queries.node_maintenance_set(tx.connection, node_id, reason, tx.actor.id, True, tx.now)
    await node_occupants().host_changed(tx, HostChange("draining", [node_id], reason))
    released = await allocations.allocations_release_on_node(tx, node_id, reason)
    details: dict[str, object] = {"allocations": released}
    await audit.record(tx, AuditEntry("node_drain", node_id, reason=reason, details=details))
    await events.emit(tx, NewEvent("node.draining", node_id, data={"reason": reason, **details}))
