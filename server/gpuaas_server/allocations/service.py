"""The verbs of allocations; one transaction each. `reconciler.py` does the rest."""

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta

from gpuaas_server.allocations import queries
from gpuaas_server.allocations.facts import allocation_hosts, facts_list, facts_lock, facts_show
from gpuaas_server.allocations.health import health_of
from gpuaas_server.allocations.hooks import Grant, NewGrants, allocation_hooks
from gpuaas_server.allocations.machine import CLEANUP, possible_actions, quota_marks
from gpuaas_server.allocations.rows import (
    AllocationChanges,
    AllocationFacts,
    AllocationHost,
    AllocationRow,
    NewAllocation,
    TransitionRow,
    UnendedAllocation,
)
from gpuaas_server.allocations.schemas import Allocation, ForceCleanup, SshAddress
from gpuaas_server.allocations.wipe_proof import StoredProof
from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.capacity import service as capacity
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.kernel.ssh_targets import SshEndpoint, read_endpoint
from gpuaas_server.nodes import service as nodes
from gpuaas_server.work import leases
from gpuaas_server.work.lanes import Lane

__all__ = [
    "LIVE",
    "LONGEST_DEPARTURE",
    "WORK",
    "AllocationAccess",
    "AllocationFacts",
    "AllocationHost",
    "Grant",
    "NewGrants",
    "access_changed",
    "access_changed_everywhere",
    "access_not_applied",
    "allocation_access",
    "allocation_event",
    "allocation_force_cleanup",
    "allocation_hosts",
    "allocation_list",
    "allocation_lock",
    "allocation_of",
    "allocation_release",
    "allocation_retry_release",
    "allocation_show",
    "allocations_release_on_node",
    "ask_release",
    "change",
    "end_claims",
    "facts_list",
    "facts_lock",
    "facts_show",
    "has_live_allocations",
    "history_forget",
    "move_quota",
    "start_release",
    "withheld_reason",
]


WORK = "allocation"
LIVE = ("requested", "provisioning", "active")
LONGEST_DEPARTURE = timedelta(minutes=15)
_SHOWN = tuple(each.name for each in fields(AllocationRow) if each.name in Allocation.model_fields)


@dataclass(frozen=True, slots=True)
class AllocationAccess:
    """Tells `access` what it needs to know before it lets somebody in."""

    allocation_id: str
    state: str
    node_id: str
    ssh: SshEndpoint | None
    tenant_id: str
    project_id: str
    created_by: str


def allocation_event(kind: str, row: NewAllocation | UnendedAllocation, **data: object) -> NewEvent:
    facts = {"node_id": row.node_id, "sku": row.sku_name, "gpu_count": row.gpu_count, **data}
    return NewEvent(kind, row.id, row.tenant_id, row.project_id, facts)


def allocation_of(row: AllocationRow, caller: Caller) -> Allocation:
    ssh = None
    if row.state == "active" and (stored := _endpoint(row)) is not None:
        ssh = SshAddress(address=stored.address, port=stored.port, user=stored.user)
    proof, verified = StoredProof.read(row.wipe_evidence), None
    if row.forced is not None:
        verified = False
    elif proof is not None:
        # Found clean, but against another baseline, is not proven: then it has not ended.
        verified = proof.clean and row.ended_at is not None
    health, reasons = health_of(row)
    return Allocation(
        **{name: getattr(row, name) for name in _SHOWN},
        ssh=ssh,
        wipe_verified=verified,
        wipe_grade_required=row.wipe_requirements["grade"] if row.wipe_requirements else None,
        wipe_grade=proof.grade if proof and verified else None,
        wipe_not_examined=proof.not_examined if proof else [],
        health=health,
        health_reasons=reasons,
        allowed_actions=identity.allowed_actions(caller, possible_actions(row.state), row.created_by == caller.id),
    )


async def allocation_show(connection: Connection, caller: Caller, allocation_id: str) -> Allocation:
    row = await queries.allocation_show(connection, caller.project_id, allocation_id)
    if row is None:
        raise not_found("allocation", allocation_id)
    return allocation_of(row, caller)


async def allocation_list(
    connection: Connection,
    caller: Caller,
    project_id: str | None,
    state: str | None,
    node_id: str | None,
    page: PageRequest,
) -> Page[Allocation]:
    rows = await queries.allocation_list(connection, project_id, state, node_id, page)
    return Page[Allocation].of([allocation_of(row, caller) for row in rows], page)


async def allocation_release(tx: Tx, caller: Caller, allocation_id: str, reason: str | None) -> Allocation:
    """Ask for the release. Asking again while it is under way, or has ended, is no error and changes nothing."""
    row = await allocation_lock(tx, caller.project_id, allocation_id)
    if row.state in LIVE:
        row = await ask_release(tx, row, reason)
    elif row.state == "release_failed":
        raise Problem("conflict", "The release failed; retry it with retry-release, or force the clean-up.")
    await record(tx, _audit("allocation_release", row, reason))
    return allocation_of(row, caller)


async def allocation_lock(tx: Tx, project_id: str, allocation_id: str) -> AllocationRow:
    """Lock the work row first and then the allocation's, as the worker does."""
    await leases.enqueue(tx, WORK, [allocation_id], lane=Lane.SAFETY)
    return await _lock(tx, project_id, allocation_id)


async def ask_release(tx: Tx, row: AllocationRow, reason: str | None) -> AllocationRow:
    """Release it once what runs there has stopped: until then the allocation stays active, but not for ever."""
    if row.release_by is not None:
        return row
    alone = row.state != "active" or row.host_lost_since is not None  # nothing can leave a lost host
    if alone or not await allocation_hooks().ask_members_to_leave(tx, row.id):
        return await start_release(tx, row, reason)
    changed = await change(tx, row, {"release_by": tx.now + LONGEST_DEPARTURE, "release_reason": reason}, reason)
    await emit(tx, allocation_event("allocation.release_wanted", changed))
    return changed


async def start_release(tx: Tx, row: AllocationRow, reason: str | None) -> AllocationRow:
    """Begin the release. The caller enqueued the work row before it locked the allocation, as the worker does."""
    changes: AllocationChanges = {
        "state": "releasing",
        "state_since": tx.now,
        "failure": None,
        "ssh_address": None,
        "phase": CLEANUP[0],
        "attempt": 0,
        "deadline_at": None,
    }
    changed = await change(tx, row, changes, reason)
    await capacity.slots_mark(tx, row.id, "cleaning")
    return changed


async def change(tx: Tx, row: AllocationRow, changes: AllocationChanges, reason: str | None) -> AllocationRow:
    """Store changes of a row that this transaction has locked, with the transition and the event that belong to them.

    Which quota it counts against from now on is part of the change; `move_quota` moves the numbers.
    """
    changes = {**changes, **quota_marks(changes)}
    await queries.allocation_change(tx.connection, row.id, row.generation, changes)
    changed = replace(row, **changes, generation=row.generation + 1)
    if changed.state != row.state:
        transition = TransitionRow(
            row.id,
            changed.generation,
            row.tenant_id,
            tx.now,
            changed.state,
            tx.actor.id,
            changed.phase,
            changed.failure,
            reason,
        )
        tx.later.insert(queries.TRANSITION_INSERT, [fields_of(transition)])
        data = {"failure": changed.failure["code"]} if changed.failure else {}
        await emit(tx, allocation_event(f"allocation.{changed.state}", changed, **data))
        metrics.allocations_ended.labels(changed.state).inc()
        if row.state == "active":
            await allocation_hooks().host_gone(tx, row.id, reason or f"it is {changed.state}")
    return changed


async def allocation_retry_release(tx: Tx, caller: Caller, allocation_id: str) -> Allocation:
    row = await allocation_lock(tx, caller.project_id, allocation_id)
    if row.state != "release_failed":
        raise Problem("conflict", f"The allocation is {row.state}; only a failed release can be retried.")
    row = await start_release(tx, row, "retry")
    await record(tx, _audit("allocation_retry_release", row, None))
    return allocation_of(row, caller)


async def allocation_force_cleanup(tx: Tx, caller: Caller, allocation_id: str, body: ForceCleanup) -> Allocation:
    row = await _lock(tx, caller.project_id, allocation_id)
    if row.state != "release_failed":
        raise Problem("conflict", f"The allocation is {row.state}; only a failed release can be forced.")
    forced: dict[str, object] = {
        "by": tx.actor.id,
        "at": tx.now.isoformat(),
        "reason": body.reason,
        "evidence": body.evidence,
    }
    changes: AllocationChanges = {
        "state": "released",
        "state_since": tx.now,
        "ended_at": tx.now,
        "forced": forced,
        "failure": None,
        "deadline_at": None,
    }
    before, row = row, await change(tx, row, changes, body.reason)
    if row.shape == "baremetal":
        await nodes.facts_freeze(tx, row.node_id)
    await end_claims(tx, before)
    details: dict[str, object] = {"evidence": body.evidence, "verified": False}
    await record(tx, _audit("allocation_force_cleanup", row, body.reason, details))
    return allocation_of(row, caller)


async def end_claims(tx: Tx, before: AllocationRow) -> None:
    """End the claims. GPUs of a host that its tenant reported as broken do not return to the pool yet."""
    withheld = withheld_reason(before.report_id) if before.report_id else None
    await capacity.claims_end(tx, before.id, before.node_id, withheld)
    move_quota(tx, before, counted=False, unproven=False)


def withheld_reason(report_id: str) -> str:
    return f"reported broken ({report_id})"


def move_quota(tx: Tx, before: AllocationRow, *, counted: bool, unproven: bool) -> None:
    """Bring the quotas in line with what the allocation counts as now, with the last statement of the transaction."""
    gpus_in_use = before.gpu_count * (counted - before.counted)
    gpus_unproven = before.gpu_count * (unproven - before.unproven)
    if gpus_in_use or gpus_unproven:
        capacity.quota_move(tx, (before.project_id, before.tenant_id), gpus_in_use, gpus_unproven)


async def _lock(tx: Tx, project_id: str, allocation_id: str) -> AllocationRow:
    row = await queries.allocation_lock(tx.connection, project_id, allocation_id)
    if row is None:
        raise not_found("allocation", allocation_id)
    return row


def _audit(action: str, row: AllocationRow, reason: str | None, details: dict[str, object] | None = None) -> AuditEntry:
    return AuditEntry(action, row.id, row.tenant_id, row.project_id, reason=reason, details=details or {})


# What the nouns that use allocations call


async def allocations_release_on_node(tx: Tx, node_id: str, reason: str) -> list[str]:
    """Drain the node: ask for the release of everything on it, and return the ids of what was asked."""
    released = []
    living = await queries.live_ids_on_node(tx.connection, node_id)
    if living:
        await leases.enqueue(tx, WORK, living, lane=Lane.SAFETY)
    for row in await queries.live_on_node(tx.connection, node_id):
        if row.state in LIVE:
            await ask_release(tx, row, reason)
            await record(tx, _audit("allocation_release", row, reason))
            released.append(row.id)
    return released


async def has_live_allocations(connection: Connection, node_id: str) -> bool:
    return await queries.any_on_node(connection, node_id, LIVE)


async def allocation_access(connection: Connection, project_id: str, allocation_id: str) -> AllocationAccess | None:
    return next(iter(await allocations_access(connection, [(allocation_id, project_id)])), None)


async def allocations_access(connection: Connection, named: Sequence[tuple[str, str]]) -> list[AllocationAccess]:
    """Read what `access` needs to know of allocations, each named by its id and its project; what is not there is left out."""
    return [_access(row) for row in await queries.allocations_show(connection, named)]


def _access(row: AllocationRow) -> AllocationAccess:
    return AllocationAccess(
        row.id,
        row.state,
        row.node_id,
        _endpoint(row),
        row.tenant_id,
        row.project_id,
        row.created_by,
    )


def _endpoint(row: AllocationRow) -> SshEndpoint | None:
    """Check the stored endpoint again, since an older release stored whatever a host reported."""
    return read_endpoint(row.ssh_address, row.ssh_port, row.ssh_user)


async def access_not_applied(tx: Tx, row: AllocationRow) -> None:
    """Tell people that the host could not bring access in line: a revoked key may still open it."""
    code = row.failure["code"] if row.failure else None
    await emit(tx, allocation_event("allocation.access_not_applied", row, failure=code))


async def access_changed(tx: Tx, *allocation_ids: str) -> None:
    """Have the reconciler bring the hosts in line, since grants or revocations changed.

    The work row is locked first, as the worker does: the other way round the two would wait for each other.
    """
    await leases.enqueue(tx, WORK, allocation_ids, lane=Lane.SAFETY)
    await queries.access_want(tx.connection, allocation_ids)


async def access_changed_everywhere(tx: Tx) -> None:
    """Ask for a sync of access on every host, since the keys that hosts trust have changed."""
    await access_changed(tx, *await queries.live_ids(tx.connection, LIVE))


async def history_forget(tx: Tx, before: datetime, portion: int) -> int:
    """Delete transitions and host tasks of allocations that ended before then. The allocation and its evidence stay."""
    forgotten = await queries.history_remove(tx.connection, before, tx.now, portion)
    await host_tasks.tasks_forget_of(tx, forgotten)
    return len(forgotten)
