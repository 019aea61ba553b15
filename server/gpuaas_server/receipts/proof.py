"""The proof of a teardown: load what the hosts have answered, judge it (pure), store the decision.

Three parts, so that the operation that waits for the proof can decide by it as by everything else that it loads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime

from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.nodes import service as nodes
from gpuaas_server.receipts import queries
from gpuaas_server.receipts.compare import Comparison, InspectionRequest
from gpuaas_server.receipts.machine import InspectionReport, Retry, Snapshot, decide
from gpuaas_server.receipts.rows import ReceiptChanges, ReceiptRow
from gpuaas_server.work.reconcilers import Wait

NOTIFY = "operation"  # the work row that goes on when a host has answered


@dataclass(frozen=True, slots=True)
class Leftover:
    receipt_id: str
    allocation_id: str
    check: str
    item: str

    def __str__(self) -> str:
        return f"{self.check}: {self.item} (on {self.allocation_id})"


@dataclass(frozen=True, slots=True)
class UnexaminedHost:
    """A host that could not be examined, and why."""

    receipt_id: str
    allocation_id: str
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.code}: {self.message} (on {self.allocation_id})"


@dataclass(frozen=True, slots=True)
class ReceiptsVerdict:
    """Hosts are clean when nothing is waited for, left or failed. `until`: the latest moment at which a wait ends."""

    waiting: bool
    left: list[Leftover] = field(default_factory=list)
    failed: list[UnexaminedHost] = field(default_factory=list)
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Proof:
    """The locked receipts of an operation, and what is known of the hosts that have not answered for good."""

    receipts: Sequence[ReceiptRow]
    inspections: Mapping[str, host_tasks.TaskRow]  # by receipt
    lost: frozenset[str]  # nodes


@dataclass(frozen=True, slots=True)
class ProofDecision:
    """Tells what becomes of the receipts that change, and how the teardown stands then."""

    steps: Sequence[tuple[ReceiptRow, Comparison | Retry]]
    verdict: ReceiptsVerdict


async def load_proof(connection: Connection, operation_id: str) -> Proof:
    rows = await queries.receipts_lock(connection, operation_id)
    pending = [row for row in rows if row.status == "pending"]
    if not pending:
        return Proof(rows, {}, frozenset())
    inspections = await host_tasks.newest_tasks(connection, [row.id for row in pending])
    lost = await nodes.nodes_lost(connection, [row.node_id for row in pending])
    return Proof(rows, inspections, frozenset(lost))


def decide_proof(proof: Proof, now: datetime) -> ProofDecision:
    steps: list[tuple[ReceiptRow, Comparison | Retry]] = []
    after = {row.id: row for row in proof.receipts}
    for row in proof.receipts:
        decision = decide(_snapshot(row, proof.inspections.get(row.id), row.node_id in proof.lost), now)
        if isinstance(decision, Wait):
            continue
        steps.append((row, decision))
        if isinstance(decision, Comparison):
            after[row.id] = apply_changes(row, settlement(decision, now))
    return ProofDecision(steps, _verdict(list(after.values())))


async def store_decision(tx: Tx, decision: ProofDecision) -> None:
    for row, step in decision.steps:
        if isinstance(step, Retry):
            await host_tasks.tasks_create(tx, [inspection_task(row, step.attempt)])
            await queries.receipt_change(tx.connection, row.id, {"attempt": step.attempt})
        else:
            await change_receipt(tx, row, settlement(step, tx.now))


async def change_receipt(tx: Tx, row: ReceiptRow, changes: ReceiptChanges) -> ReceiptRow:
    """Store the change, and tell the projects that may read the receipt."""
    after = await queries.receipt_change(tx.connection, row.id, changes)
    data: dict[str, object] = {
        "instance_id": row.instance_id,
        "operation_id": row.operation_id,
        "allocation_id": row.allocation_id,
        "left": left_count(after),
        "code": after.code,
    }
    kind, tenant_id = f"receipt.{after.status}", after.tenant_id
    readers = [one for one in (after.project_id, after.instance_project_id) if one is not None]
    await emit(tx, *(NewEvent(kind, after.id, tenant_id, one, data) for one in readers))
    return after


def settlement(found: Comparison, now: datetime) -> ReceiptChanges:
    return {
        "status": found.status,
        "code": found.code,
        "message": found.message or None,
        "checks": [check.document() for check in found.checks],
        "settled_at": now,
    }


def apply_changes(row: ReceiptRow, changes: ReceiptChanges) -> ReceiptRow:
    return replace(row, **changes)


def inspection_task(row: ReceiptRow, attempt: int) -> host_tasks.NewTask:
    """Return the task. Its resource is the receipt, so that inspections are counted apart from the allocation's own tasks."""
    spec: dict[str, object] = {
        "receipt_id": row.id,
        "instance_id": row.instance_id,
        "allocation_id": row.allocation_id,
        "shape": row.shape,
        "depth": row.depth,
        "footprint": row.footprint,
        "revoked_serials": row.revoked_serials,
    }
    subject = (row.id, attempt, spec, row.deadline_at, NOTIFY, row.operation_id)
    return host_tasks.NewTask(row.node_id, row.tenant_id, "inspect", *subject)


def _snapshot(row: ReceiptRow, task: host_tasks.TaskRow | None, lost: bool) -> Snapshot:
    report = None
    if task is not None:
        report = InspectionReport(task.generation, task.status, task.result or {}, task.evidence or {}, task.failure)
    asked = InspectionRequest(
        row.id, row.allocation_id, row.depth, row.footprint, row.footprint_sha256, row.baseline_sha256
    )
    return Snapshot(row.status, row.attempt, row.deadline_at, lost, asked, report)


def _verdict(rows: Sequence[ReceiptRow]) -> ReceiptsVerdict:
    """Wait until all hosts have answered, so that people are told of all leftovers at once."""
    waiting = [row.deadline_at for row in rows if row.status == "pending"]
    if waiting:
        return ReceiptsVerdict(True, until=max(waiting))
    left = [
        Leftover(row.id, row.allocation_id, check["name"], found["item"])
        for row in rows
        if row.status == "left"
        for check in row.checks
        for found in check["found"]
        if not found["known"]
    ]
    unseen = (row for row in rows if row.status == "unseen")
    return ReceiptsVerdict(
        False, left, [UnexaminedHost(row.id, row.allocation_id, row.code or "", row.message or "") for row in unseen]
    )


def left_count(row: ReceiptRow) -> int:
    return sum(int(check["left"]) for check in row.checks)
