"""The verbs of an app's controller on an operation: claim it, report on it, and end it."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.controllers import service as controllers
from gpuaas_server.identity import service as identity
from gpuaas_server.instances import teardown, watches
from gpuaas_server.instances.controller_access import end_access
from gpuaas_server.instances.controller_context import claimed_operation
from gpuaas_server.instances.controller_schemas import (
    ClaimedOperation,
    MemberReport,
    OperationComplete,
    OperationFail,
    OperationReport,
)
from gpuaas_server.instances.documents import DETAIL_BYTES, RUNTIME_BYTES, require_size, require_unchanged
from gpuaas_server.instances.locked_instance import LockedInstance, lock_instance, lock_operation
from gpuaas_server.instances.machine import IN_BETWEEN, status_begun
from gpuaas_server.instances.operation_completion import (
    concerned_members,
    finish_operation,
    members_torn_down,
    update_bulk_operation,
)
from gpuaas_server.instances.timeline import InstanceRef, record_events
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.errors import not_found
from gpuaas_server.kernel.failures import Failure, FailureDocument
from gpuaas_server.operations import service as operations
from gpuaas_server.operations.schemas import LeaseRenewed, Operation, OperationClaim
from gpuaas_server.operations.service import (
    KINDS,
    PROBING,
    TEARDOWNS,
    VERIFYING,
    Limits,
    OperationRow,
    operation_of,
)

# A host that is asked answers in moments, and wakes the operation. One that is cut off does not: when it is given up is known
# only once the instance is locked, which is too late to schedule it, so the first look does.
FIRST_LOOK = timedelta(seconds=20)


async def operation_claim(
    tx: Tx, limits: Limits, caller: Caller, operation_id: str, body: OperationClaim
) -> ClaimedOperation:
    await operations.schedule(tx, [operation_id], tx.now + limits.lease)
    locked, operation = await lock_operation(tx, caller.project_id, operation_id, identity.bound_apps(caller))
    if caller.by_consent:
        await controllers.note_claim(tx, operation.tenant_id, operation.app_slug)
    claimed, token = await operations.claim_lease(tx, limits, operation, body.replica)
    if operation.attempt == 0:
        _begin(locked, operation)
    else:
        await end_access(tx, operation_id)  # the controller before has no way into the hosts any more
    facts = {"attempt": claimed.attempt, "replica": body.replica}
    locked.add_event("operation.claimed", operation_id, kind=claimed.kind, **facts)
    if claimed.parent_id is not None:
        await update_bulk_operation(locked, claimed.parent_id)
    await locked.store()
    await _record(tx, "operation_claim", claimed, {"replica": body.replica, "attempt": claimed.attempt})
    return await claimed_operation(tx.connection, caller, locked, claimed, token)


def _begin(locked: LockedInstance, operation: OperationRow) -> None:
    """Change the instance and its members as the first claim does: with it the work begins."""
    kind = operation.kind
    locked.set_status(status_begun(kind, locked.row.status))
    for member in concerned_members(locked, operation):
        newcomer = member.id == operation.new_member_id
        status = "joining" if newcomer else KINDS[kind].member_begun
        if status is not None and not (operation.target == "instance" and member.host_gone):
            locked.set_member_status(member, status)


async def operation_report(
    tx: Tx, limits: Limits, caller: Caller, operation_id: str, body: OperationReport
) -> LeaseRenewed:
    """Keep steps and progress, and renew the lease. Only the first report locks the instance, whose timeline it enters, and
    one with a runtime, which it keeps.
    """
    require_size("runtime", body.runtime, RUNTIME_BYTES)
    known, locked = await operations.find_operation(tx.connection, caller.project_id, operation_id), None
    if known.status == "claimed" or body.runtime is not None:
        locked = await lock_instance(tx, caller.project_id, known.instance_id)
    row = await operations.report_lock(tx.connection, caller.project_id, operation_id)
    if row is not None:
        operations.require_bound(row, identity.bound_apps(caller))
    operation = operations.require_lease(tx.actor, tx.now, row, operation_id, body.lease_token)
    if operation.status == "claimed":
        about = InstanceRef(operation.instance_id, operation.tenant_id, caller.project_id, operation.app_slug)
        await record_events(tx, about, [("operation.running", operation_id, {"kind": operation.kind})])
    if locked is not None and body.runtime is not None:
        require_unchanged(locked.row.runtime, body.expected_runtime)
        locked.note(runtime=body.runtime)
        await locked.store()
    changed, news = await operations.renew_lease(tx, limits, operation, body)
    if news:
        tx.wakeups.add(operations.instance_topic(operation.instance_id))
    tx.audited = True  # what is reported is in the operation itself; the claim and the end are in the trail
    return LeaseRenewed(
        operation_id=operation_id,
        cancel_requested=changed.cancel_requested_at is not None,
        **{name: getattr(changed, name) for name in ("status", "lease_until")},
    )


async def operation_complete(
    tx: Tx, limits: Limits, caller: Caller, operation_id: str, body: OperationComplete
) -> Operation:
    """Take the controller's word that it is done. After a teardown, and where members have readiness probes, the hosts are
    asked too, before it counts.
    """
    require_size("access_bundle", body.access_bundle, RUNTIME_BYTES)
    deadline = tx.now + limits.verify
    await operations.schedule(tx, [operation_id], min(deadline, tx.now + FIRST_LOOK))
    locked, operation = await lock_operation(tx, caller.project_id, operation_id, identity.bound_apps(caller))
    operations.require_lease(tx.actor, tx.now, operation, operation_id, body.lease_token)
    _apply_member_reports(locked, operation, body.members)
    if body.runtime is not None:
        locked.change(runtime=_completed_runtime(locked, body.runtime, body.runtime_kept))
    if body.access_bundle is not None:
        locked.change(access_bundle=body.access_bundle)
    if body.mode is not None:
        locked.change(mode=body.mode.document())
    await operations.keep_steps(tx, operation, body.steps)
    ended = await _await_hosts(locked, operation, deadline) or await finish_operation(locked, operation, "succeeded")
    await locked.store()
    await _record(tx, "operation_complete", ended, {})
    return operation_of(ended, caller)


def _completed_runtime(locked: LockedInstance, reported: dict[str, object], kept: Collection[str]) -> dict[str, object]:
    """Return the reported runtime with the present values of these keys: of the claim, they may be older."""
    present = {key: value for key, value in (locked.row.runtime or {}).items() if key in kept}
    runtime = {**{key: value for key, value in reported.items() if key not in kept}, **present}
    require_size("runtime", runtime, RUNTIME_BYTES)
    return runtime


async def _await_hosts(locked: LockedInstance, operation: OperationRow, deadline: datetime) -> OperationRow | None:
    """Ask the hosts what is left of a teardown, and whether members are ready. Return None where there is nothing to ask."""
    torn_down = members_torn_down(locked, operation) if operation.kind in TEARDOWNS else []
    proving = bool(torn_down) and await teardown.start_proof(locked, operation, torn_down)
    ready_by = await watches.start_watches(locked, operation, concerned_members(locked, operation))
    if not proving and ready_by is None:
        return None
    phase = VERIFYING if proving else PROBING
    waiting = await operations.await_proof(locked.tx, operation, max(deadline, ready_by or deadline), phase)
    await end_access(
        locked.tx, operation.id
    )  # the controller is done, and must not change a host that is being checked
    locked.add_event(f"operation.{phase}", operation.id, kind=operation.kind)
    return waiting


async def operation_fail(tx: Tx, caller: Caller, operation_id: str, body: OperationFail) -> Operation:
    """Record the controller's report that the operation failed. If its cancellation was requested, it ends as cancelled."""
    locked, operation = await lock_operation(tx, caller.project_id, operation_id, identity.bound_apps(caller))
    operations.require_lease(tx.actor, tx.now, operation, operation_id, body.lease_token)
    told = body.failure
    next_step = told.next_step or "Read the steps; correct what they name, and ask for it again."
    reason = Failure(told.code, told.message, next_step, told.retryable)
    _apply_member_reports(locked, operation, body.members, reason.document())
    await operations.keep_steps(tx, operation, body.steps)
    status = "cancelled" if operation.cancel_requested_at is not None else "failed"
    ended = await finish_operation(locked, operation, status, reason)
    await locked.store()
    await _record(tx, "operation_fail", ended, {"code": told.code})
    return operation_of(ended, caller)


async def operation_give_back(tx: Tx, caller: Caller, operation_id: str, lease_token: str) -> Operation:
    """Offer the operation of a replica that ends in good order again, so that the next one need not wait for its lease."""
    locked, operation = await lock_operation(tx, caller.project_id, operation_id, identity.bound_apps(caller))
    operations.require_lease(tx.actor, tx.now, operation, operation_id, lease_token)
    changed = await offer_again(locked, operation)
    await locked.store()
    await _record(tx, "operation_give_back", changed, {})
    return operation_of(changed, caller)


async def offer_again(locked: LockedInstance, operation: OperationRow) -> OperationRow:
    """Take the operation from its controller and offer it to another replica. The caller stores the instance."""
    changed = await operations.release_lease(locked.tx, operation)
    await end_access(locked.tx, operation.id)  # its controller loses access to the hosts, even if no replica resumes it
    locked.add_event("operation.pending", operation.id, kind=operation.kind, attempt=operation.attempt)
    if operation.parent_id is not None:
        await update_bulk_operation(locked, operation.parent_id)
    return changed


def _apply_member_reports(
    locked: LockedInstance,
    operation: OperationRow,
    reports: Sequence[MemberReport],
    failure: FailureDocument | None = None,
) -> None:
    """Keep what the controller says of the members that it worked on; of others it has nothing to say."""
    mine = {member.id: member for member in concerned_members(locked, operation)}
    for report in reports:
        member = mine.get(report.member_id)
        if member is None:
            raise not_found("member of this operation", report.member_id)
        require_size("adapter_detail", report.adapter_detail, DETAIL_BYTES)
        if report.adapter_detail is not None:
            locked.change_member(member, adapter_detail=report.adapter_detail)
        if report.status == "ready" and watches.awaits_probes(locked, operation, member):
            if member.status not in (*IN_BETWEEN, "ready"):
                locked.set_member_status(member, "joining")
        elif report.status is not None:
            bad = report.status in ("failed", "degraded")
            locked.set_member_status(member, report.status, _why(report, failure) if bad else None)


def _why(report: MemberReport, failure: FailureDocument | None) -> FailureDocument:
    if failure is not None:  # the code of the operation's failure names the cause
        return {**failure, "message": report.message or failure["message"]}
    message = report.message or f"The controller says that it is {report.status}."
    step = "Recover the member, replace it, or remove it."
    return Failure(f"member_{report.status}", message, step, True).document()


async def _record(tx: Tx, action: str, operation: OperationRow, details: dict[str, object]) -> None:
    place = (operation.id, operation.tenant_id, operation.project_id)
    facts = {"kind": operation.kind, "instance": operation.instance_id, **details}
    await record(tx, AuditEntry(action, *place, details=facts))
