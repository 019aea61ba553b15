"""Start operations: write the rows, mark the members that they work on. The caller has locked the instance."""

from dataclasses import replace

from gpuaas_server.instances.locked_instance import LockedInstance
from gpuaas_server.instances.machine import status_asked
from gpuaas_server.instances.rows import MemberRow
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.operations import service as operations
from gpuaas_server.operations.service import NewOperation, OperationRequest


@dataclass(frozen=True, slots=True)
class Target:
    """One member to work on, and, to replace it, the one that takes its place."""

    operation_id: str
    member: MemberRow
    new_member: MemberRow | None = None


def refuse_while_busy(locked: LockedInstance, member: MemberRow | None = None) -> None:
    """Refuse a second live operation on a member, and one on the whole instance beside one on a member."""
    live = locked.live_operation(member)
    if live is not None:
        raise operation_in_progress(live)


def operation_in_progress(operation_id: str) -> Problem:
    return Problem("operation_in_progress", f"{operation_id} is not finished.", {"operation_id": operation_id})


async def start_instance_operation(locked: LockedInstance, request: OperationRequest) -> str:
    """Start an operation on the whole instance and return its id.

    The caller has checked that the status allows it, and stores the instance.
    """
    refuse_while_busy(locked)
    before = locked.row.status
    operation_id = new_id("op")
    row = replace(_row(locked, request, operation_id, "instance"), status_before=before)
    locked.set_status(status_asked(request.kind, before))
    locked.change(operation_id=operation_id, last_operation_id=operation_id)
    locked.add_event("operation.pending", operation_id, kind=request.kind)
    await operations.insert_operations(locked.tx, [row])
    return operation_id


async def start_member_operations(locked: LockedInstance, request: OperationRequest, targets: list[Target]) -> str:
    """Start one operation, or one for each target below a bulk operation; return the id of the one to follow."""
    parent_id = new_id("op") if len(targets) > 1 else None
    rows: list[NewOperation] = []
    if parent_id is not None:
        parent = _row(locked, request, parent_id, "bulk")
        rows.append(replace(parent, on_failure=request.on_failure, children={"pending": len(targets)}))
    one_by_one = parent_id is not None and request.on_failure == "stop"
    for number, target in enumerate(targets):
        member, newcomer = target.member, target.new_member
        rows.append(
            replace(
                _row(locked, request, target.operation_id, "member"),
                member_id=member.id,
                ordinal=member.ordinal,
                parent_id=parent_id,
                new_member_id=None if newcomer is None else newcomer.id,
                deferred=one_by_one and number > 0,
            )
        )
        for concerned in (member,) if newcomer is None else (member, newcomer):
            if concerned.operation_id != target.operation_id:
                correlation_id = locked.tx.actor.correlation_id
                locked.change_member(concerned, operation_id=target.operation_id, correlation_id=correlation_id)
        locked.add_event("operation.pending", target.operation_id, kind=request.kind, member_id=member.id)
    if parent_id is not None:
        locked.add_event("operation.pending", parent_id, kind=request.kind, targets=len(targets))
    first = parent_id or targets[0].operation_id
    locked.change(last_operation_id=first)
    await operations.insert_operations(locked.tx, rows)
    return first


def _row(locked: LockedInstance, request: OperationRequest, operation_id: str, target: str) -> NewOperation:
    instance, actor, now = locked.row, locked.tx.actor, locked.tx.now
    return NewOperation(
        id=operation_id,
        tenant_id=instance.tenant_id,
        project_id=instance.project_id,
        instance_id=instance.id,
        app_slug=instance.app_slug,
        kind=request.kind,
        target=target,
        reason=request.reason,
        requested_by=actor.id,
        requested_by_name=actor.name,
        correlation_id=actor.correlation_id,
        now=now,
        deadline_at=request.deadline(now),
        parameters=request.parameters,
    )
