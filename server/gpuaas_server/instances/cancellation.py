"""Ends an operation early for people: cancels it, or forces its end."""

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.instances import secret_rotation, teardown
from gpuaas_server.instances.locked_instance import LockedInstance, lock_operation
from gpuaas_server.instances.operation_completion import (
    apply_success,
    finish_operation,
    members_torn_down,
    update_bulk_operation,
)
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.failures import failure
from gpuaas_server.operations import service as operations
from gpuaas_server.operations.schemas import Operation
from gpuaas_server.operations.service import (
    LIVE,
    PROBING,
    TEARDOWNS,
    VERIFYING,
    ForcedDocument,
    OperationRow,
    operation_of,
)


async def operation_cancel(tx: Tx, caller: Caller, operation_id: str, reason: str | None) -> Operation:
    """Cancel at once while no controller works on it; otherwise ask the controller to stop at the next safe place."""
    locked, operation = await lock_operation(tx, caller.project_id, operation_id)
    if operation.status not in LIVE:
        raise Problem("conflict", f"The operation has ended already: it is {operation.status}.")
    if operation.phase == VERIFYING:
        raise Problem(
            "conflict", "The controller is done; only the proof is missing. Wait for it, or force the operation."
        )
    if operation.target == "bulk":
        await _cancel_children(locked, operation, reason)
        changed = await operations.find_operation(tx.connection, caller.project_id, operation_id)
    else:
        changed = await _cancel(locked, operation, reason)
    await locked.store()
    await _record(tx, "operation_cancel", operation, reason)
    return operation_of(changed, caller)


async def _cancel(
    locked: LockedInstance, operation: OperationRow, reason: str | None, follow: bool = True
) -> OperationRow:
    if operation.status == "pending" or operation.phase == PROBING:
        why = failure("cancelled", f"{locked.tx.actor.name} cancelled the operation{f': {reason}' if reason else '.'}")
        return await finish_operation(locked, operation, "cancelled", why, follow=follow)
    if operation.cancel_requested_at is not None:
        return operation
    locked.add_event("operation.cancel_requested", operation.id, kind=operation.kind)
    return await operations.request_cancel(locked.tx, operation)


async def _cancel_children(locked: LockedInstance, parent: OperationRow, reason: str | None) -> None:
    for child in await operations.live_children(locked.tx, parent.id):
        if child.phase != VERIFYING:
            await _cancel(locked, child, reason, follow=False)
    await operations.request_cancel(locked.tx, parent)
    await update_bulk_operation(locked, parent.id)


async def operation_force(tx: Tx, caller: Caller, operation_id: str, reason: str) -> Operation:
    """End what cannot end otherwise. A teardown then counts as done, and as not verified for ever."""
    locked, operation = await lock_operation(tx, caller.project_id, operation_id)
    if operation.target == "bulk" or not operations.forcible(operation):
        raise Problem("conflict", f"The operation is {operation.status}, so there is nothing to force.")
    forced: ForcedDocument = {"by": tx.actor.id, "at": tx.now.isoformat(), "reason": reason, "verified": False}
    members = members_torn_down(locked, operation)  # as they are before they count as gone
    if operation.status in LIVE:
        why = failure("operation_forced", f"{tx.actor.name} ended the operation by force: {reason}")
        changed = await finish_operation(locked, operation, "failed", why, verified=False, forced=forced)
    else:
        changed = await _force_ended(locked, operation, forced)
    if operation.kind in TEARDOWNS:
        await teardown.force_proof(locked, operation, members, reason)
    locked.add_event("operation.forced", operation_id, kind=operation.kind)
    await locked.store()
    await _record(tx, "operation_force", operation, reason, {"verified": False})
    return operation_of(changed, caller)


async def _force_ended(locked: LockedInstance, operation: OperationRow, forced: ForcedDocument) -> OperationRow:
    """Accept a teardown that failed. Only the last operation counts: what was done since then is not undone."""
    if operation.target == "instance":
        current = locked.row.status == "failed" and locked.row.last_operation_id == operation.id
    else:
        member = locked.members.get(operation.member_id or "")
        # A failed removal can be forced until another operation is requested, whatever health was reported since.
        current = member is not None and member.last_operation_id == operation.id
    live = locked.live_operation()
    if not current or live is not None:
        raise Problem("conflict", "Another operation has changed the instance.", {"operation_id": live} if live else {})
    apply_success(locked, operation, verified=False)
    await secret_rotation.start_due_rotation(locked)
    return await operations.accept_unproven(locked.tx, operation, forced)


async def _record(
    tx: Tx, action: str, operation: OperationRow, reason: str | None, details: dict[str, object] | None = None
) -> None:
    facts = {"kind": operation.kind, "instance": operation.instance_id, **(details or {})}
    place = (operation.id, operation.tenant_id, operation.project_id)
    await record(tx, AuditEntry(action, *place, reason=reason, details=facts))
