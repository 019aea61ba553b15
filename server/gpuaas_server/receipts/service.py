"""The verbs of receipts. An operation starts them, or goes on without the proof; people read them.

What comes of those that were started is in proof.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpuaas_server.access import service as access
from gpuaas_server.allocations.service import AllocationHost, allocation_hosts
from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import CATALOGUE, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.receipts import footprint as footprints
from gpuaas_server.receipts import queries
from gpuaas_server.receipts.compare import Comparison
from gpuaas_server.receipts.machine import INSPECTION
from gpuaas_server.receipts.proof import (
    Proof,
    ProofDecision,
    apply_changes,
    change_receipt,
    decide_proof,
    inspection_task,
    left_count,
    load_proof,
    settlement,
    store_decision,
)
from gpuaas_server.receipts.queries import ReceiptFilter
from gpuaas_server.receipts.rows import ForceDocument, ReceiptChanges, ReceiptRow
from gpuaas_server.receipts.schemas import Receipt, ReceiptCheck, ReceiptForce, ReceiptLine, ReceiptProblem

__all__ = [
    "Proof",
    "ProofDecision",
    "ReceiptFilter",
    "Teardown",
    "TeardownTarget",
    "decide_proof",
    "force_receipts",
    "load_proof",
    "operations_referenced",
    "receipt_list",
    "receipt_show",
    "start_receipts",
    "store_decision",
]


@dataclass(frozen=True, slots=True)
class TeardownTarget:
    member_id: str
    allocation_id: str
    node_id: str


@dataclass(frozen=True, slots=True)
class Teardown:
    """The teardown that a proof is about."""

    operation_id: str
    instance_id: str
    app_slug: str
    depth: str = "gone"  # or stopped
    project_id: str | None = None  # the instance's project; it may read the proof too, like the allocation's project


async def start_receipts(
    tx: Tx, teardown: Teardown, targets: Sequence[TeardownTarget], footprint: Mapping[str, object]
) -> list[str]:
    """End the access of the controller, which is done, and ask each host; return the ids of the receipts."""
    await access.certificates_end(tx, teardown.operation_id)
    hosts = await allocation_hosts(tx.connection, [target.allocation_id for target in targets])
    rows = [_row(tx, teardown, target, hosts[target.allocation_id]) for target in targets]
    try:
        wanted = footprints.normalize(footprint)
    except footprints.FootprintInvalid as problem:
        failed = Comparison("unseen", "footprint_invalid", f"The app's footprint cannot be checked: {problem}.")
        rows = [apply_changes(row, settlement(failed, tx.now)) for row in rows]
    else:
        serials = await access.revoked_serials_of(tx.connection, list(hosts), tx.now)
        digest = footprints.digest(wanted)
        rows = [
            replace(row, footprint=wanted, footprint_sha256=digest, revoked_serials=serials[row.allocation_id])
            for row in rows
        ]
        await host_tasks.tasks_create(tx, [inspection_task(row, 1) for row in rows])
    tx.later.insert(queries.RECEIPT_INSERT, rows)
    return [row.id for row in rows]


async def force_receipts(tx: Tx, teardown: Teardown, targets: Sequence[TeardownTarget], reason: str) -> None:
    """Go on without the proof, on somebody's word. What was seen stays beside it, and so does who said so.

    A host that was never asked gets a receipt too: that nothing was looked at is what it says.
    """
    forced: ForceDocument = {"by": tx.actor.id, "at": tx.now.isoformat(), "reason": reason}
    rows = await queries.receipts_lock(tx.connection, teardown.operation_id)
    asked = {row.member_id for row in rows}
    never = [target for target in targets if target.member_id not in asked]
    hosts = await allocation_hosts(tx.connection, [target.allocation_id for target in never]) if never else {}
    unasked = [_row(tx, teardown, target, hosts[target.allocation_id]) for target in never]
    same: ReceiptChanges = {"status": "not_verified", "forced": forced, "attempt": 0, "settled_at": tx.now}
    tx.later.insert(queries.RECEIPT_INSERT, [apply_changes(row, same) for row in unasked])
    for row in rows:
        if row.status in ("pending", "left", "unseen"):
            changes: ReceiptChanges = {"status": "not_verified", "forced": forced}
            if row.status == "pending":
                changes["settled_at"] = tx.now
            await change_receipt(tx, row, changes)


async def operations_referenced(connection: Connection, operation_ids: Sequence[str]) -> set[str]:
    """Return the operations that a receipt proves: they are kept as long as the receipt."""
    return await queries.operations_referenced(connection, operation_ids)


async def receipt_show(connection: Connection, caller: Caller, receipt_id: str) -> Receipt:
    row = await queries.receipt_show(connection, caller.project_id, receipt_id, identity.visible_apps(caller))
    if row is None:
        raise not_found("receipt", receipt_id)
    return Receipt(
        **_line(row),
        checks=[ReceiptCheck.model_validate(check) for check in row.checks],
        footprint=row.footprint,
        baseline_sha256=row.baseline_sha256,
        forced=None if row.forced is None else ReceiptForce.model_validate(row.forced),
    )


async def receipt_list(
    connection: Connection,
    caller: Caller,
    project_id: str | None,
    wanted: ReceiptFilter,
    page: PageRequest,
) -> Page[ReceiptLine]:
    seen = identity.visible_apps(caller)
    rows = await queries.receipt_list(connection, project_id, wanted, page, seen)
    return Page[ReceiptLine].of([ReceiptLine(**_line(row)) for row in rows], page)


def _row(tx: Tx, teardown: Teardown, target: TeardownTarget, host: AllocationHost) -> ReceiptRow:
    return ReceiptRow(
        id=new_id("rcp"),
        tenant_id=host.tenant_id,
        project_id=host.project_id,
        instance_project_id=None if teardown.project_id == host.project_id else teardown.project_id,
        operation_id=teardown.operation_id,
        instance_id=teardown.instance_id,
        app_slug=teardown.app_slug,
        member_id=target.member_id,
        allocation_id=target.allocation_id,
        node_id=host.node_id,
        shape=host.shape,
        depth=teardown.depth,
        footprint={},
        footprint_sha256="",
        baseline_sha256=host.baseline_sha256,
        revoked_serials=[],
        status="pending",
        attempt=1,
        deadline_at=tx.now + INSPECTION,
        correlation_id=tx.actor.correlation_id,
        created_at=tx.now,
    )


_DERIVED = {"verified", "left", "failure"}
_PLAIN = ReceiptLine.model_fields.keys() - _DERIVED


def _line(row: ReceiptRow) -> dict[str, Any]:
    kind = CATALOGUE.get(row.code or "")
    return {
        **{name: getattr(row, name) for name in _PLAIN},
        "verified": None if row.status == "pending" else row.status == "clean",
        "left": left_count(row),
        "failure": kind and ReceiptProblem(code=kind.code, message=row.message or "", next_step=kind.next_step),
    }
