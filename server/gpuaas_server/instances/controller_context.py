"""The context that a controller gets with a claim: the operation, the instance, and all its members."""

from psycopg.rows import DictRow

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
from gpuaas_server.instances.locked import LockedInstance
from gpuaas_server.instances.operation_completion import concerned_members
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.database import Connection
from gpuaas_server.operations.service import CHANGES_VERSION, operation_of


async def claimed_operation(
    connection: Connection, caller: Caller, locked: LockedInstance, operation: DictRow, lease_token: str
) -> ClaimedOperation:
    mine = {member["id"] for member in concerned_members(locked, operation)}
    places = await allocations.facts_show(connection, [member["allocation_id"] for member in locked.living_members()])
    instance = locked.row
    changing = operation["kind"] in CHANGES_VERSION
    return ClaimedOperation(
        operation=operation_of(operation, caller),
        lease_token=lease_token,
        lease_until=operation["lease_until"],
        instance=_instance(instance),
        target_version=_version(instance["attempted"]) if changing and instance["attempted"] else None,
        members=[_member(one, places.get(one["allocation_id"]), one["id"] in mine) for one in locked.living_members()],
    )


def _instance(row: DictRow) -> ControllerInstance:
    same = ("id", "name", "app_slug", "status", "generation", "inputs", "placement_intent", "runtime", "access_bundle")
    projects = [ControllerProject(**one) for one in row["projects"]]
    return ControllerInstance(**{name: row[name] for name in same}, version=_version(row), projects=projects)


def _version(row: DictRow) -> ControllerVersion:
    return ControllerVersion(**{name: row[name] for name in ControllerVersion.model_fields})


def _member(row: DictRow, place: AllocationFacts | None, concerned: bool) -> ControllerMember:
    same = ("id", "component_key", "ordinal", "status", "adapter_detail", "host_gone")
    allocation = None
    if place is not None:
        allocation = ControllerAllocation(**{name: getattr(place, name) for name in ControllerAllocation.model_fields})
    return ControllerMember(**{name: row[name] for name in same}, allocation=allocation, concerned=concerned)
