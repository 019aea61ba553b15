"""The verbs on the rows of operations: start them, end them, keep a bulk operation in step with its children.

They change operations and nothing else. What an operation means for its instance and members is in `instances`, whose
callers hold the lock of the instance, and with it of all its operations.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import field
from datetime import datetime, timedelta

from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.failures import Failure
from gpuaas_server.operations import queries
from gpuaas_server.operations.machine import LIVE, VERIFYING, BulkStep, decide_bulk
from gpuaas_server.operations.rows import EndedOperation, ForcedDocument, NewOperation, OperationChanges, OperationRow
from gpuaas_server.work import leases

WORK = "operation"  # the work row of an operation: its lease, its deadline, and what hosts say after a teardown
DEFAULT_SECONDS = 3600
_ENDED: OperationChanges = {"phase": None, "lease_digest": None, "lease_until": None, "deferred": False}


def instance_topic(instance_id: str) -> str:
    """Return the wake-up that followers of an operation, and readers of an instance's timeline, wait for."""
    return f"instance:{instance_id}"


def controller_topic(project_id: str) -> str:
    """Return the wake-up that a project's controllers wait for while they have no work."""
    return f"controller:{project_id}"


def app_topic(slug: str) -> str:
    """Return the wake-up that controllers wait for which serve the app in every tenant that consents."""
    return f"controller:{slug}"


@dataclass(frozen=True, slots=True)
class OperationRequest:
    """Says what was asked for, why, and until when."""

    kind: str
    reason: str | None = None
    deadline_seconds: int | None = None
    parameters: dict[str, object] = field(default_factory=dict)
    on_failure: str = "continue"

    def deadline(self, now: datetime) -> datetime:
        return now + timedelta(seconds=self.deadline_seconds or DEFAULT_SECONDS)


async def schedule(tx: Tx, operation_ids: Sequence[str], at: datetime) -> None:
    """Schedule a check of the operations: by then a lease may have lapsed, or a deadline passed."""
    await leases.enqueue(tx, WORK, operation_ids, run_at=at)


async def insert_operations(tx: Tx, rows: Sequence[NewOperation]) -> None:
    """Write new operations of one project, watch their deadlines, and wake the controllers."""
    await queries.operations_insert(tx.connection, rows)
    due: dict[datetime, list[str]] = {}
    for row in rows:
        if row.target != "bulk":
            due.setdefault(row.deadline_at, []).append(row.id)
    for deadline, ids in due.items():
        await schedule(tx, ids, deadline)
    tx.wakeups |= {controller_topic(rows[0].project_id), app_topic(rows[0].app_slug)}


async def end_operation(
    tx: Tx, operation: OperationRow, status: str, failure: Failure | None, forced: ForcedDocument | None
) -> OperationRow:
    """Store the end. `forced` says by whose decision a teardown counts as done."""
    told = None if failure is None else failure.document()
    changes: OperationChanges = {"status": status, "status_since": tx.now, "finished_at": tx.now, "failure": told}
    if forced is not None:
        changes["forced"] = forced
    return await queries.operation_change(tx.connection, operation.id, {**changes, **_ENDED})


async def accept_unproven(tx: Tx, operation: OperationRow, forced: ForcedDocument) -> OperationRow:
    """Note on a failed teardown by whose decision it counts as done."""
    return await queries.operation_change(tx.connection, operation.id, {"forced": forced})


async def await_proof(tx: Tx, operation: OperationRow, deadline: datetime, phase: str = VERIFYING) -> OperationRow:
    """End the lease of a controller that is done; the operation waits for what the hosts say."""
    changes: OperationChanges = {"status": "running", "phase": phase, "deadline_at": deadline}
    changes |= {"lease_digest": None, "lease_until": None}
    return await queries.operation_change(tx.connection, operation.id, changes)


async def request_cancel(tx: Tx, operation: OperationRow) -> OperationRow:
    """Ask the controller to stop at the next safe place."""
    return await queries.operation_change(tx.connection, operation.id, {"cancel_requested_at": tx.now})


@dataclass(frozen=True, slots=True)
class BulkProgress:
    """A live bulk operation, what it is to do next, and how many of its children are in which status."""

    parent: OperationRow
    step: BulkStep
    children: dict[str, int]


async def bulk_progress(tx: Tx, parent_id: str) -> BulkProgress | None:
    """Lock the bulk operation and look at its children; None if it has ended."""
    parent = await queries.operation_lock(tx.connection, parent_id)
    if parent is None or parent.status not in LIVE:
        return None
    children = await queries.children_of(tx.connection, parent_id)
    views = [(child.id, child.status, child.deferred) for child in children]
    step = decide_bulk(parent.status, parent.on_failure or "continue", views)
    return BulkProgress(parent, step, dict(sorted(Counter(child.status for child in children).items())))


async def store_bulk_progress(tx: Tx, progress: BulkProgress) -> None:
    """Offer the child whose turn it is, count, and end the bulk operation with its last child."""
    parent, step = progress.parent, progress.step
    if step.offer is not None:
        await queries.operation_change(tx.connection, step.offer, {"deferred": False})
        tx.wakeups |= {controller_topic(parent.project_id), app_topic(parent.app_slug)}
    changes: OperationChanges = {"children": progress.children}
    if step.status != parent.status:
        changes |= {"status": step.status, "status_since": tx.now}
    if step.status not in LIVE:
        told = None if step.failure is None else step.failure.document()
        changes |= {"finished_at": tx.now, "failure": told}
    await queries.operation_change(tx.connection, parent.id, changes)


async def live_children(tx: Tx, parent_id: str) -> list[OperationRow]:
    """Lock the children of a bulk operation that have not ended."""
    children = await queries.children_of(tx.connection, parent_id)
    return await queries.operations_lock(tx.connection, [one.id for one in children if one.status in LIVE])


async def ended_operations(tx: Tx, before: datetime, portion: int) -> list[EndedOperation]:
    """Lock operations that ended before then, those that ended first."""
    return await queries.ended_before(tx.connection, before, portion)


async def forget_operations(tx: Tx, ended: Sequence[EndedOperation], kept: set[str]) -> None:
    """Delete operations that have served their time; those in `kept`, and bulk ones with children, wait for another turn."""
    single = [row.id for row in ended if row.target != "bulk" and row.id not in kept]
    await queries.operations_delete(tx.connection, single)
    bulk = [row.id for row in ended if row.target == "bulk" and row.id not in kept]
    await queries.childless_delete(tx.connection, bulk)
    await queries.operations_keep(tx.connection, [row.id for row in ended], tx.now)
