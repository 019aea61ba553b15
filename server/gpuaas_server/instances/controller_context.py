"""The context that a controller gets with a claim: the operation, the instance, and all its members."""

from gpuaas_server.allocations import service as allocations
from gpuaas_server.allocations.service import AllocationFacts
from gpuaas_server.instances.controller_schemas import (
    ClaimedOperation,
    ControllerAllocation,
    ControllerInstance,
    ControllerMember,
    ControllerProject,
    ControllerVersion,
)
from gpuaas_server.instances.locked_instance import LockedInstance
from gpuaas_server.instances.member_problems import health_as_found
from gpuaas_server.instances.operation_completion import concerned_members
from gpuaas_server.instances.rows import InstanceRow, MemberRow, VersionDocument
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.database import Connection
from gpuaas_server.operations.service import CHANGES_VERSION, OperationRow, operation_of


async def claimed_operation(
    connection: Connection, caller: Caller, locked: LockedInstance, operation: OperationRow, lease_token: str
) -> ClaimedOperation:
    mine = {member.id for member in concerned_members(locked, operation)}
    places = await allocations.facts_show(connection, [member.allocation_id for member in locked.living_members()])
    instance = locked.row
    changing = operation.kind in CHANGES_VERSION
    return ClaimedOperation(
        operation=operation_of(operation, caller),
        lease_token=lease_token,
        lease_until=operation.lease_until or operation.deadline_at,
        instance=_instance(instance),
        target_version=_version(instance.attempted) if changing and instance.attempted else None,
        members=[_member(one, places.get(one.allocation_id), one.id in mine) for one in locked.living_members()],
    )


def _instance(row: InstanceRow) -> ControllerInstance:
    same = ("id", "name", "app_slug", "status", "generation", "inputs", "placement_intent", "runtime", "access_bundle")
    return ControllerInstance(
        **{name: getattr(row, name) for name in same},
        created_at=row.created_at,
        version=_version(row.current_version()),
        projects=[ControllerProject(**one) for one in row.projects],
    )


def _version(document: VersionDocument) -> ControllerVersion:
    return ControllerVersion(
        version=document["version"],
        runtime_version=document["runtime_version"],
        digest=document["digest"],
        manifest=dict(document["manifest"]),
    )


def _member(row: MemberRow, place: AllocationFacts | None, concerned: bool) -> ControllerMember:
    same = ("id", "component_key", "ordinal", "status", "adapter_detail", "host_gone")
    allocation = None
    if place is not None:
        allocation = ControllerAllocation(**{name: getattr(place, name) for name in ControllerAllocation.model_fields})
    facts = {name: getattr(row, name) for name in same}
    return ControllerMember(**facts, health=health_as_found(row), allocation=allocation, concerned=concerned)
