"""Does what people do with nodes: look, rename, cordon, drain, retire, discover."""

from collections.abc import Sequence
from datetime import timedelta

import orjson

from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.capacity import service as capacity
from gpuaas_server.capacity.schemas import MappedSlot
from gpuaas_server.capacity.service import SlotSummary
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.host_tasks.schemas import Task
from gpuaas_server.identity.service import allowed_actions
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.wipe_grades import provable_grades
from gpuaas_server.nodes import addresses, drain, machine, maintenance_queries, node_key_queries, queries
from gpuaas_server.nodes.enrolment import enrolment_tokens_forget
from gpuaas_server.nodes.facts import boots_reported, facts_freeze, facts_release, wipe_order
from gpuaas_server.nodes.hooks import HostChange, node_hooks
from gpuaas_server.nodes.host_certificates import host_certificates_forget
from gpuaas_server.nodes.node_keys import count_ending_keys, key_life
from gpuaas_server.nodes.rows import MappedNode, NodeRow
from gpuaas_server.nodes.schemas import Maintenance, Node, NodeDrain, NodeSlots, NodeUpdate, SlotCounts
from gpuaas_server.nodes.status import NodeState, node_status, possible_actions
from gpuaas_server.work import leases

__all__ = [
    "DISCOVER_SECONDS",
    "HostChange",
    "NodesWithoutAnchor",
    "address_is_of_node",
    "boots_reported",
    "count_ending_keys",
    "enrolment_tokens_forget",
    "facts_freeze",
    "facts_release",
    "host_certificates_forget",
    "key_life",
    "node_cordon",
    "node_discover",
    "node_drain",
    "node_list",
    "node_lock",
    "node_retire",
    "node_show",
    "node_uncordon",
    "node_update",
    "nodes_lost",
    "nodes_without_anchor",
    "slot_map",
    "task_list",
    "wipe_order",
]

DISCOVER_SECONDS = 300


async def nodes_lost(connection: Connection, node_ids: Sequence[str]) -> set[str]:
    """Return those of the nodes that have been silent for too long."""
    return await queries.nodes_lost(connection, node_ids)


async def address_is_of_node(tx: Tx, node_id: str, address: str) -> bool:
    """Tell whether it is the node's own address, or that of a slice on it."""
    return await addresses.address_is_of_node(tx, node_id, address)


@dataclass(frozen=True, slots=True)
class NodesWithoutAnchor:
    """Nodes that do not trust a CA yet: how many are heard of, how many there are, and some of their names."""

    alive: int
    total: int
    names: list[str]


async def nodes_without_anchor(connection: Connection, digest: str, names: int) -> NodesWithoutAnchor:
    rows = await queries.nodes_without_anchor(connection, digest, names)
    if not rows:
        return NodesWithoutAnchor(0, 0, [])
    named = [f"{row.name} (lost)" if row.lost else row.name for row in rows]
    return NodesWithoutAnchor(rows[0].alive, rows[0].total, named)


async def node_list(connection: Connection, caller: Caller, status: str | None, page: PageRequest) -> Page[Node]:
    rows = await queries.node_list(connection, status, page)
    summaries = await capacity.slot_summary(connection, [row.id for row in rows])
    return Page[Node].of([_node(row, summaries[row.id], caller) for row in rows], page)


async def node_show(connection: Connection, caller: Caller, node_id: str) -> Node:
    row = await queries.node_show(connection, node_id)
    if row is None:
        raise not_found("node", node_id)
    summaries = await capacity.slot_summary(connection, [node_id])
    return _node(row, summaries[node_id], caller)


async def slot_map(connection: Connection, status: str | None, page: PageRequest) -> Page[NodeSlots]:
    """List every GPU of the fleet, node by node; retired nodes have none. With a status, only nodes with such a slot."""
    only = None if status is None else await capacity.nodes_with_slots(connection, status, page)
    rows = await queries.nodes_mapped(connection, only, page)
    slots = await capacity.slot_map(connection, [row.id for row in rows])
    return Page[NodeSlots].of([_mapped(row, slots[row.id]) for row in rows], page)


def _mapped(row: MappedNode, slots: list[MappedSlot]) -> NodeSlots:
    state = NodeState.of(row)
    return NodeSlots(id=row.id, name=row.name, status=node_status(state), cordoned=state.cordoned, slots=slots)


async def node_lock(tx: Tx, node_id: str, action: str) -> NodeRow:
    """Lock the node's row if its state allows the action. Always before capacity's lock on the same node."""
    row = await queries.node_lock(tx.connection, node_id)
    if row is None:
        raise not_found("node", node_id)
    state = NodeState.of(row)
    if action not in possible_actions(state):
        raise Problem("conflict", f"The node is {node_status(state)}{', cordoned' if state.cordoned else ''}.")
    return row


async def node_update(tx: Tx, node_id: str, row: NodeRow, body: NodeUpdate) -> None:
    name = row.name if body.name is None else body.name
    labels = row.labels if body.labels is None else body.labels
    await queries.node_names_lock(tx.connection)
    if await queries.node_name_taken(tx.connection, name, node_id):
        raise Problem("already_exists", f"Another node is called {name}.")
    erase = row.erase_drives if body.erase_drives is None else body.erase_drives
    await queries.node_update(tx.connection, node_id, name, orjson.dumps(labels).decode(), erase)
    if erase != row.erase_drives:
        await capacity.node_erase_drives_set(tx, node_id, erase)
    before: dict[str, object] = {"name": row.name, "labels": row.labels, "erase_drives": row.erase_drives}
    after: dict[str, object] = {"name": name, "labels": labels, "erase_drives": erase}
    if body.address is not None:
        await addresses.address_set(tx, node_id, body.address)
        before, after = before | {"address": row.address}, after | {"address": body.address}
    if body.source_networks is not None:
        await node_key_queries.source_networks_set(tx.connection, node_id, body.source_networks)
        before |= {"source_networks": row.source_networks}
        after |= {"source_networks": body.source_networks}
    await _changed(tx, node_id, "node_update", "node.updated", {"before": before, "after": after})


async def node_cordon(tx: Tx, node_id: str, reason: str) -> None:
    """Cordon the node. A drain that goes on, or is planned, ends with it."""
    row = await node_lock(tx, node_id, "node_cordon")
    await drain.announce_cancelled(tx, row)
    await queries.node_maintenance_set(tx.connection, node_id, reason, tx.actor.id, False, tx.now)
    await capacity.node_eligibility_set(tx, node_id, False)
    await node_hooks().host_changed(tx, HostChange("cordoned", [node_id], reason))
    await _changed(tx, node_id, "node_cordon", "node.cordoned", reason=reason)


async def node_drain(tx: Tx, node_id: str, body: NodeDrain, notice: timedelta) -> None:
    """Drain the node at the time that is named; otherwise after the notice, or now if nobody there needs it."""
    starts_at = body.starts_at or tx.now + notice
    if starts_at > tx.now:  # before the node is locked, as the worker does
        await leases.enqueue(tx, drain.WORK, [node_id], starts_at)
    row = await node_lock(tx, node_id, "node_drain")
    if starts_at > tx.now and (body.starts_at is not None or await drain.needs_notice(tx, row)):
        await drain.plan_drain(tx, row, starts_at, body.reason)
    else:
        await drain.start_drain(tx, row, body.reason, tx.actor.id, "node_drain")


async def node_uncordon(tx: Tx, node_id: str) -> None:
    row = await node_lock(tx, node_id, "node_uncordon")
    await drain.announce_cancelled(tx, row)
    await queries.node_maintenance_end(tx.connection, node_id)
    await capacity.node_eligibility_set(tx, node_id, row.lost_since is None)
    await node_hooks().host_changed(tx, HostChange("uncordoned", [node_id]))
    details: dict[str, object] = {"maintenance_reason": row.maintenance_reason}
    await _changed(tx, node_id, "node_uncordon", "node.uncordoned", details)


async def node_retire(tx: Tx, node_id: str, reason: str) -> None:
    """Retire the node for ever: its key is refused from now on. It becomes ineligible first, so that no claim slips in."""
    await node_lock(tx, node_id, "node_retire")
    await capacity.node_eligibility_set(tx, node_id, False)
    claims = await capacity.live_claims(tx.connection, node_id)
    if claims:
        raise Problem("node_busy", details={"allocations": claims[:50]})
    await queries.node_retire(tx.connection, node_id, tx.now)
    await addresses.addresses_forget(tx, node_id)
    window = await maintenance_queries.window_live(tx.connection, node_id)
    if window is not None:
        by = (tx.actor.id, "the node is retired", tx.now)
        await maintenance_queries.window_finish(tx.connection, window.id, "cancelled", *by)
    tx.wakeups.add(host_tasks.topic(node_id))  # its long poll ends now, with node_retired
    await _changed(tx, node_id, "node_retire", "node.retired", reason=reason)


async def node_discover(tx: Tx, node_id: str) -> str:
    await node_lock(tx, node_id, "node_discover")
    generation = await host_tasks.next_generation(tx.connection, node_id)
    task_id = await host_tasks.task_create(
        tx,
        node_id=node_id,
        tenant_id=None,
        kind="discover",
        resource_id=node_id,
        generation=generation,
        spec={},
        deadline=tx.now + timedelta(seconds=DISCOVER_SECONDS),
        # The inventory in the result is applied when it arrives; nobody else needs to hear of it.
        notify_kind=machine.KIND,
        notify_subject=machine.SUBJECT,
    )
    await audit.record(tx, AuditEntry("node_discover", node_id, details={"task_id": task_id}))
    await tx.flush()  # the answer shows it
    return task_id


async def task_list(connection: Connection, node_id: str, page: PageRequest) -> Page[Task]:
    if await queries.node_show(connection, node_id) is None:
        raise not_found("node", node_id)
    return await host_tasks.task_list(connection, node_id, page)


async def _changed(
    tx: Tx,
    node_id: str,
    action: str,
    event: str,
    details: dict[str, object] | None = None,
    reason: str | None = None,
) -> None:
    await audit.record(tx, AuditEntry(action, node_id, reason=reason, details=details or {}))
    await events.emit(tx, NewEvent(event, node_id, data={"reason": reason} if reason else {}))


def _node(row: NodeRow, summary: SlotSummary, caller: Caller) -> Node:
    counts = SlotCounts(total=summary.total, **summary.by_status)
    state = NodeState.of(row, summary.claimed)
    maintenance = None
    reason, since, by = row.maintenance_reason, row.maintenance_since, row.maintenance_by
    if row.cordoned and reason is not None and since is not None and by is not None:
        maintenance = Maintenance(reason=reason, since=since, by=by)
    return Node(
        status=node_status(state),
        schedulable=state.eligible and state.approved,
        drained=state.draining and not summary.claimed,
        maintenance=maintenance,
        slots=counts,
        wipe_grades=list(provable_grades(row.agent_sha256)),
        allowed_actions=allowed_actions(caller, [*_possible(row, state), *_approval(state, counts)]),
        **{name: getattr(row, name) for name in _PLAIN},
    )


def _possible(row: NodeRow, state: NodeState) -> list[str]:
    """List the actions that are possible now. A node has one maintenance window at a time."""
    return [name for name in possible_actions(state) if name != "maintenance_window_plan" or not row.window_live]


def _approval(state: NodeState, counts: SlotCounts) -> list[str]:
    return ["slot_approve"] if counts.discovered and not state.retired else []


_PLAIN = (
    "id",
    "name",
    "hostname",
    "address",
    "slice_addresses",
    "source_networks",
    "cordoned",
    "draining",
    "drain_at",
    "agent_version",
    "last_seen_at",
    "lost_since",
    "retired_at",
    "boot_id",
    "key_generation",
    "key_expires_at",
    "erase_drives",
    "configuration_sha256",
    "agent_sha256",
    "claim_differs",
    "inventory",
    "labels",
    "generation",
    "created_at",
)
