"""The attempts to mend drift: ordinary `reconcile` operations that the platform requests. The caller has locked the instance,
and stores it.
"""

from dataclasses import replace

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.instances import drift
from gpuaas_server.instances.drift import DriftStep
from gpuaas_server.instances.drift_rows import Drift
from gpuaas_server.instances.locked_instance import LockedInstance
from gpuaas_server.instances.operation_start import start_instance_operation
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.failures import Failure
from gpuaas_server.operations.service import OperationRequest, OperationRow

MEMBERS_IN_REASON = 3
MOST_REASON = 400


def is_attempt(locked: LockedInstance, operation: OperationRow) -> bool:
    """Tell whether the platform requested the operation to mend drift, and it is the live attempt."""
    return locked.row.drift is not None and locked.row.drift["operation_id"] == operation.id


async def apply_step(locked: LockedInstance, step: DriftStep) -> None:
    """Store the decision, and start a reconcile if it is one."""
    for name in step.events:
        locked.add_event(name, **_facts(step.drift))
    decided = step.drift
    if step.attempt:
        operation_id = await _start_attempt(locked, decided)
        decided = replace(decided, operation_id=operation_id, last_operation_id=operation_id)
    locked.note_drift(decided)


async def _start_attempt(locked: LockedInstance, decided: Drift) -> str:
    tx, row = locked.tx, locked.row
    tx.actor = system_actor("platform", tx.actor.correlation_id)
    reason = _reason(decided)
    operation_id = await start_instance_operation(locked, OperationRequest("reconcile", reason))
    number = len(decided.attempts)
    locked.add_event("instance.reconcile_requested", operation_id=operation_id, attempt=number, **_facts(decided))
    details = {"app": row.app_slug, "operation": operation_id, "policy": row.reconcile_policy, "attempt": number}
    entry = AuditEntry("instance_reconcile", row.id, row.tenant_id, row.project_id, reason=reason, details=details)
    await record(tx, entry)
    return operation_id


def _facts(decided: Drift) -> dict[str, object]:
    return {
        "members": [one["member_id"] for one in decided.members],
        "reasons": sorted({one["code"] for one in decided.members}),
        **({"why": decided.stopped["code"]} if decided.stopped is not None else {}),
    }


def _reason(decided: Drift) -> str:
    """Return the reason that the operation has for its readers. It names a few members; the instance names them all."""
    named = [f"{one['component_key']} {one['member_id']}: {one['message']}" for one in decided.members]
    more = len(named) - MEMBERS_IN_REASON
    text = " ".join(named[:MEMBERS_IN_REASON]) + (f" And {more} more." if more > 0 else "")
    return f"by policy auto, attempt {len(decided.attempts)} of {drift.BUDGET} in an hour. {text}"[:MOST_REASON]


def note_end(locked: LockedInstance, operation: OperationRow, reason: Failure | None) -> None:
    """Note how an attempt ended, if the operation is one."""
    if not is_attempt(locked, operation):
        return
    state = drift.end_attempt(Drift.of(locked.row.drift), operation.status, reason, locked.tx.now)
    if state.stopped is not None:
        locked.add_event("instance.reconcile_stopped", **_facts(state))
    locked.note_drift(state)


def set_aside(locked: LockedInstance) -> None:
    """Forget the live attempt, which gives way to what a person asks for: its end says nothing about the drift."""
    locked.note_drift(drift.set_aside(Drift.of(locked.row.drift)))
