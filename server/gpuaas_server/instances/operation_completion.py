"""Ends an operation, and decides what its instance and members become. The caller has locked the instance, and stores it."""

from collections.abc import Sequence

from gpuaas_server.instances import controller_access, departures, drift_attempts, secret_rotation, watches
from gpuaas_server.instances.locked_instance import SMOKE_WORK, LockedInstance
from gpuaas_server.instances.machine import kind_for_member, member_broken, member_done, status_broken, status_done
from gpuaas_server.instances.rows import MemberRow
from gpuaas_server.instances.version_check import flags_of, refuse_version, version_brought
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.failures import Failure, FailureDocument, failure
from gpuaas_server.operations import service as operations
from gpuaas_server.operations.service import ADD, CHANGES_VERSION, KINDS, TEARDOWNS, ForcedDocument, OperationRow
from gpuaas_server.work import leases


def is_unclaimed(operation: OperationRow) -> bool:
    """Tell whether no controller has ever claimed the operation."""
    return (operation.status, operation.attempt) == ("pending", 0)


def concerned_members(locked: LockedInstance, operation: OperationRow) -> list[MemberRow]:
    """Return the members that the operation works on."""
    if operation.target == "instance":
        return locked.living_members()
    named = (locked.members.get(one) for one in (operation.member_id, operation.new_member_id) if one is not None)
    return [member for member in named if member is not None and member.status != "removed"]


def members_torn_down(locked: LockedInstance, operation: OperationRow) -> list[MemberRow]:
    """Return the members of which nothing may be left on a host."""
    return [member for member in concerned_members(locked, operation) if member.id != operation.new_member_id]


async def finish_operation(
    locked: LockedInstance,
    operation: OperationRow,
    status: str,
    reason: Failure | None = None,
    *,
    verified: bool | None = None,
    forced: ForcedDocument | None = None,
    follow: bool = True,
) -> OperationRow:
    """End the operation, with everything that follows from it. `forced`: a person decided that a teardown counts as done."""
    told = None if reason is None else reason.document()
    ended = await operations.end_operation(locked.tx, operation, status, reason, forced)
    data = {"failure": reason.code} if reason else {}
    locked.add_event(f"operation.{status}", ended.id, kind=ended.kind, member_id=ended.member_id, **data)
    drift_attempts.note_end(locked, ended, reason)
    leaving = departures.leaving_members(locked)
    whole = operation.target == "instance"
    locked.drop_report(None if whole else {member.id for member in concerned_members(locked, operation)})
    if status == "succeeded" or (forced is not None and operation.kind in TEARDOWNS):
        apply_success(locked, operation, verified)
        await secret_rotation.destroy_replaced(locked, operation)
    else:
        _apply_failure(locked, operation, status, told)
    if operation.kind in CHANGES_VERSION:  # the instance has another version now, so its flags are derived again
        locked.change(flags=await flags_of(locked.tx.connection, locked.row))
    if operation.attempt > 0:
        await controller_access.end_access(locked.tx, operation.id)
    await watches.end_watches(locked)
    if follow and operation.parent_id is not None:
        await update_bulk_operation(locked, operation.parent_id)
    await departures.wake_allocations(locked, operation, leaving)
    await leases.wake(locked.tx, SMOKE_WORK, [locked.id])
    if follow:
        await departures.start_departures(locked)
    if follow and (status == "succeeded" or not secret_rotation.is_rotation(operation)):
        await secret_rotation.start_due_rotation(locked)
    return ended


def apply_success(locked: LockedInstance, operation: OperationRow, verified: bool | None) -> None:
    kind = operation.kind
    left = any(
        not member.host_gone for member in members_torn_down(locked, operation)
    )  # of a lost host it was noted then
    for member in concerned_members(locked, operation):
        is_new = member.id == operation.new_member_id
        if kind in TEARDOWNS and not is_new and not member.host_gone:
            locked.change_member(member, verified=verified)
        locked.set_member_status(member, member_done(kind_for_member(kind, is_new), member.status, member.host_gone))
        _release_member(locked, member, operation)
    if operation.target == "instance":
        _apply_instance_success(locked, kind)
    elif KINDS[kind].removes_members and left:
        secret_rotation.mark_secrets_stale(locked)


def _apply_instance_success(locked: LockedInstance, kind: str) -> None:
    locked.change(operation_id=None, failure=None)
    if kind in CHANGES_VERSION:
        _change_version(locked)
    if locked.row.deployed_at is None and status_done(kind) == "running":
        locked.change(deployed_at=locked.tx.now)
    locked.set_status(status_done(kind))
    if KINDS[kind].ends_instance:
        locked.change(decommissioned_at=locked.tx.now, placement_intent=[])
        locked.add_event("instance.decommissioned")


def _change_version(locked: LockedInstance) -> None:
    wanted = locked.row.attempted
    locked.change(attempted=None)
    if wanted is None or wanted["version_id"] == locked.row.version_id:
        return  # the version that was there before a failed upgrade is there again
    before = locked.row.current_version()
    locked.change(previous=before, **wanted)
    locked.add_event("instance.version_changed", before=before["version"], after=wanted["version"])


def _apply_failure(locked: LockedInstance, operation: OperationRow, ended: str, told: FailureDocument | None) -> None:
    kind, begun = operation.kind, operation.attempt > 0
    for member in concerned_members(locked, operation):
        adds = kind_for_member(kind, member.id == operation.new_member_id) == ADD
        if begun:
            after = member_broken(kind, member.status)
            if after != member.status:
                locked.set_member_status(member, after, told)
        elif adds:  # nothing was ever done for it, so there is nothing to clean
            locked.drop_from_intent([member])
            locked.set_member_status(member, "removed")
        elif KINDS[kind].removes_members:
            locked.return_to_intent(member)
        _release_member(locked, member, operation)
    if operation.target == "instance":
        locked.change(operation_id=None)
        if kind in CHANGES_VERSION and not begun:
            locked.change(attempted=None)
        before = operation.status_before or locked.row.status
        after = status_broken(kind, before, begun)
        secret_rotation.note_failure(locked, operation)
        untouched = ended == "cancelled" and not begun and after == before
        locked.set_status(after, None if untouched else told, back=True)


def _release_member(locked: LockedInstance, member: MemberRow, operation: OperationRow) -> None:
    if member.operation_id == operation.id:
        locked.change_member(member, operation_id=None, last_operation_id=operation.id)
    elif operation.target == "instance":
        locked.note_member(member, last_operation_id=operation.id)


async def cancel_unclaimed(locked: LockedInstance, leaving: list[MemberRow]) -> None:
    """Cancel what no controller has claimed and would bring something to a host that goes, or can follow after that."""
    gone = {member.id for member in leaving}
    bringing = [
        operation
        for operation in await operations.live_lock(locked.tx.connection, locked.id)
        if is_unclaimed(operation) and _yields_to_release(locked, operation)
        if any(member.id in gone for member in concerned_members(locked, operation))
    ]
    if any(drift_attempts.is_attempt(locked, operation) for operation in bringing):
        drift_attempts.set_aside(locked)
    await _finish_all(
        locked, bringing, "cancelled", failure("cancelled", "An allocation of the member is being released.")
    )


def _yields_to_release(locked: LockedInstance, operation: OperationRow) -> bool:
    own = secret_rotation.is_rotation(operation) or drift_attempts.is_attempt(locked, operation)
    return own or KINDS[operation.kind].yields_to_release


async def fail_without_hosts(locked: LockedInstance, why: Failure) -> None:
    """Fail operations all of whose members have lost their hosts: no controller can carry them out any more."""
    hopeless = [
        operation
        for operation in await operations.live_lock(locked.tx.connection, locked.id)
        if (touched := concerned_members(locked, operation)) and all(member.host_gone for member in touched)
    ]
    await _finish_all(locked, hopeless, "failed", why)


async def refuse_unclaimed(locked: LockedInstance) -> None:
    """Fail what no controller has claimed and would bring bytes to a host that may not be brought there any more."""
    refused: list[OperationRow] = []
    why: Failure | None = None
    for operation in await operations.live_lock(locked.tx.connection, locked.id):
        version = version_brought(locked.row, operation.kind)
        if version is None or secret_rotation.is_rotation(operation) or not is_unclaimed(operation):
            continue
        try:
            await refuse_version(locked.tx.connection, locked.row, version)
        except Problem as problem:
            why = failure(problem.code, problem.detail)
            refused.append(operation)
    if why is not None:
        await _finish_all(locked, refused, "failed", why)


async def _finish_all(locked: LockedInstance, ending: Sequence[OperationRow], status: str, why: Failure) -> None:
    """Finish all of them, then do what follows: a bulk operation that one ends must not end the next one, too."""
    for operation in ending:
        await finish_operation(locked, operation, status, why, follow=False)
    for parent_id in sorted({operation.parent_id for operation in ending if operation.parent_id is not None}):
        await update_bulk_operation(locked, parent_id)
    if ending:
        await departures.start_departures(locked)
        await secret_rotation.start_due_rotation(locked)


async def update_bulk_operation(locked: LockedInstance, parent_id: str) -> None:
    """Keep a bulk operation in step after one of its children has changed: count, offer the next, cancel the rest, or end."""
    progress = await operations.bulk_progress(locked.tx, parent_id)
    if progress is None:
        return
    parent, step = progress.parent, progress.step
    if step.cancel:
        why = failure("cancelled", "An earlier member operation did not succeed.")
        for child in await operations.operations_lock(locked.tx.connection, step.cancel):
            await finish_operation(locked, child, "cancelled", why, follow=False)
        await update_bulk_operation(locked, parent_id)
        return
    if step.status != parent.status:
        kind = f"operation.{step.status}"
        locked.add_event(kind, parent_id, kind=parent.kind, children=progress.children)
    await operations.store_bulk_progress(locked.tx, progress)
