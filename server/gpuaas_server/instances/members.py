"""Members of an instance: read them, and ask for operations on one or many."""

from collections.abc import Sequence

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.identity import service as identity
from gpuaas_server.instances import launch, member_queries, queries, served_projects
from gpuaas_server.instances.launch import LockedAllocations
from gpuaas_server.instances.locked_instance import LockedInstance, lock_instance
from gpuaas_server.instances.machine import members_changeable, refuse_closed
from gpuaas_server.instances.member_check import Departure, departure_refusals, refuse_departure
from gpuaas_server.instances.member_operation_schemas import MemberOperationCreate
from gpuaas_server.instances.operation_requests import require_living, require_no_instance_operation
from gpuaas_server.instances.operation_start import Target, refuse_while_busy, start_member_operations
from gpuaas_server.instances.rows import InstanceRow, MemberRow
from gpuaas_server.instances.schemas import InstanceMember, Placement
from gpuaas_server.instances.version_check import refuse_version
from gpuaas_server.instances.views import caller_over, member_of
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.operations import service as operations
from gpuaas_server.operations.schemas import Operation
from gpuaas_server.operations.service import (
    BRINGS_CURRENT,
    KINDS,
    MAY_REMOVE_REQUIRED_MEMBERS,
    MEMBER_KINDS,
    OperationRequest,
)

NO_ALLOCATIONS = LockedAllocations({}, {})
_FIELDS = tuple(dict.fromkeys(name for kind in MEMBER_KINDS for name in KINDS[kind].fields))


async def member_list(
    connection: Connection,
    caller: Caller,
    instance_id: str,
    removed: bool,
    page: PageRequest,
) -> Page[InstanceMember]:
    instance = await _instance(connection, caller, instance_id)
    place = None if page.after is None else await member_queries.member_ordinal(connection, page.after)
    if page.after is not None and place is None:
        raise Problem("invalid_cursor")
    rows = await member_queries.member_list(connection, instance_id, removed, place, page.rows)
    may = caller_over(instance, caller)
    return Page[InstanceMember].of([member_of(row, instance, may) for row in rows], page)


async def member_show(connection: Connection, caller: Caller, instance_id: str, member_id: str) -> InstanceMember:
    instance = await _instance(connection, caller, instance_id)
    row = await member_queries.member_show(connection, instance_id, member_id)
    if row is None:
        raise not_found("member", member_id)
    return member_of(row, instance, caller_over(instance, caller))


async def _instance(connection: Connection, caller: Caller, instance_id: str) -> InstanceRow:
    row = await queries.instance_seen(connection, caller.project_id, instance_id, identity.visible_apps(caller))
    if row is None:
        raise not_found("instance", instance_id)
    return row


async def member_operation_create(tx: Tx, caller: Caller, instance_id: str, body: MemberOperationCreate) -> Operation:
    """Accept all targets or none; what follows when one of them fails is up to `on_failure`."""
    _require_shape(body)
    project_id = caller.project_id
    allocations = await _lock_allocations(tx, caller, instance_id, _requested_allocations(body))
    locked = await lock_instance(tx, project_id, instance_id)
    await _require_running(locked)
    launch.check_options(launch.manifest_of(locked.row), body.kind, body.options)
    if body.kind in BRINGS_CURRENT:
        await refuse_version(tx.connection, locked.row, locked.row.current_version())
    if body.component_key:
        refuse_closed(locked.row.mode, body.kind, [body.component_key])
    named = _targets(locked, body.kind, _named_members(body))
    overridden = _check_departure(locked, body, named)
    if body.kind == "add":
        targets = await _add(locked, body, allocations or NO_ALLOCATIONS)
    elif body.kind == "replace":
        targets = await _replace(locked, body, named, allocations or NO_ALLOCATIONS)
    else:
        targets = [Target(new_id("op"), member) for member in named]
        if KINDS[body.kind].removes_members:
            locked.drop_from_intent(named)
    parameters: dict[str, object] = {"options": body.options} if body.options else {}
    request = OperationRequest(body.kind, body.reason, body.deadline_seconds, parameters, body.on_failure)
    operation_id = await start_member_operations(locked, request, targets)
    row = await locked.store()
    facts: dict[str, object] = {"kind": body.kind, "operation": operation_id, "targets": len(targets), **overridden}
    place = (row.id, row.tenant_id, row.project_id)
    await record(tx, AuditEntry("member_operation_create", *place, reason=body.reason, details=facts))
    touched = [one for target in targets for one in (target.member, target.new_member) if one is not None]
    await served_projects.record_elsewhere(locked, "member_operation_create", touched, facts)
    return await operations.operation_show(tx.connection, caller, operation_id)


async def _lock_allocations(
    tx: Tx, caller: Caller, instance_id: str, requested: Sequence[str]
) -> LockedAllocations | None:
    """Lock the requested allocations: of the instance's project, and of served ones in which the caller may do the same."""
    if not requested:
        return None
    served = await served_projects.served_project_ids(tx.connection, caller, instance_id)
    open_to = await served_projects.usable_projects(tx, caller, "member_operation_create", served)
    return await launch.lock_allocations(tx, open_to, requested)


def _require_shape(body: MemberOperationCreate) -> None:
    """Refuse a body that has not exactly the fields of its kind."""
    needed = KINDS[body.kind].fields
    wrong = [name for name in _FIELDS if bool(getattr(body, name)) != (name in needed)]
    if wrong:
        raise Problem("invalid_request", f"{body.kind} takes {' and '.join(needed)}, and nothing else of its kind.")
    if body.force and body.kind not in MAY_REMOVE_REQUIRED_MEMBERS:
        raise Problem(
            "invalid_request",
            f"force is for {', '.join(MAY_REMOVE_REQUIRED_MEMBERS)}; {body.kind} has nothing to force.",
        )
    if body.force and not body.reason:
        raise Problem("reason_required", "force needs a reason.")


def _requested_allocations(body: MemberOperationCreate) -> list[str]:
    return [*(body.allocation_ids or ()), *(one.allocation_id for one in body.replacements or ())]


def _named_members(body: MemberOperationCreate) -> list[str]:
    return [*(body.targets or ()), *(one.member_id for one in body.replacements or ())]


def _check_departure(
    locked: LockedInstance, body: MemberOperationCreate, leaving: Sequence[MemberRow]
) -> dict[str, object]:
    """Refuse a departure that `min` or `depends_on` of the app forbids; return what was overridden, for the audit row."""
    if body.kind not in MAY_REMOVE_REQUIRED_MEMBERS:
        return {}
    intent = {(one["component_key"], one["allocation_id"]) for one in locked.row.placement_intent}
    meant = [one for one in locked.living_members() if (one.component_key, one.allocation_id) in intent]
    departure = Departure(body.kind, leaving, one_by_one=body.on_failure == "stop")
    found = departure_refusals(launch.manifest_of(locked.row), meant, departure)
    if not body.force:
        refuse_departure(found)
        return {}
    return {"forced": [{"code": one.code, "component_key": one.component_key} for one in found]}


async def _require_running(locked: LockedInstance) -> None:
    require_living(locked)
    await require_no_instance_operation(locked)
    row = locked.row
    if not members_changeable(row.status, row.deployed_at is not None, False, None):
        raise Problem("conflict", f"The instance is {row.status}: its members cannot be changed now.")


def _targets(locked: LockedInstance, kind: str, member_ids: Sequence[str]) -> list[MemberRow]:
    if len(set(member_ids)) != len(member_ids):
        raise Problem("invalid_request", "A member is named twice.")
    return [_target(locked, kind, member_id) for member_id in member_ids]


def _target(locked: LockedInstance, kind: str, member_id: str) -> MemberRow:
    member = locked.members.get(member_id)
    if member is None:
        raise not_found("member", member_id)
    refuse_while_busy(locked, member)
    if member.status not in KINDS[kind].member_from:
        allowed = ", ".join(KINDS[kind].member_from)
        raise Problem("conflict", f"{member_id} is {member.status}; {kind} is for members that are {allowed}.")
    if not member.host_gone:  # one without a machine must be able to go
        refuse_closed(locked.row.mode, kind, [member.component_key])
    return member


async def _add(locked: LockedInstance, body: MemberOperationCreate, allocations: LockedAllocations) -> list[Target]:
    key = body.component_key or ""
    requested = [Placement(component_key=key, allocation_id=one) for one in body.allocation_ids or ()]
    await _check(locked, requested, allocations, locked.living_members())
    targets = []
    for one in requested:
        operation_id = new_id("op")
        targets.append(Target(operation_id, locked.add_member(key, allocations.facts[one.allocation_id], operation_id)))
    return targets


async def _replace(
    locked: LockedInstance, body: MemberOperationCreate, leaving: Sequence[MemberRow], allocations: LockedAllocations
) -> list[Target]:
    pairs = list(zip(leaving, (one.allocation_id for one in body.replacements or ()), strict=True))
    requested = [Placement(component_key=member.component_key, allocation_id=place) for member, place in pairs]
    gone = {member.id for member in leaving}
    staying = [member for member in locked.living_members() if member.id not in gone]
    await _check(locked, requested, allocations, staying)
    targets = []
    for member, place in pairs:
        operation_id = new_id("op")
        newcomer = locked.add_member(member.component_key, allocations.facts[place], operation_id)
        targets.append(Target(operation_id, member, newcomer))
    locked.drop_from_intent(leaving)
    return targets


async def _check(
    locked: LockedInstance, requested: Sequence[Placement], allocations: LockedAllocations, living: Sequence[MemberRow]
) -> None:
    manifest = launch.manifest_of(locked.row)
    connection, project_id = locked.tx.connection, locked.row.project_id
    await launch.check_placements(
        connection, project_id, manifest, requested, allocations, living, locked.id, locked.served_project_ids
    )
