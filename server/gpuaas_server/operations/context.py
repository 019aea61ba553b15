"""Rows as the wire sees them: an operation, and the whole context that a controller gets with a claim."""

from psycopg.rows import DictRow

from gpuaas_server.allocations import placements
from gpuaas_server.allocations.placements import Place
from gpuaas_server.identity import service as identity
from gpuaas_server.instances.held import Held
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.database import Connection
from gpuaas_server.operations.ending import concerned
from gpuaas_server.operations.machine import LIVE, TEARDOWNS, possible_actions
from gpuaas_server.operations.schemas import (
    ClaimedOperation,
    ControllerAllocation,
    ControllerInstance,
    ControllerMember,
    ControllerProject,
    ControllerVersion,
    Operation,
    OperationFailure,
    OperationForced,
    OperationProgress,
    OperationStep,
)

_PLAIN = Operation.model_fields.keys() - {"steps", "progress", "failure", "forced", "allowed_actions"}


def operation_of(row: DictRow, caller: Caller) -> Operation:
    asked = row["cancel_requested_at"] is not None
    possible = possible_actions(row["status"], row["phase"], row["target"], asked, forcible(row))
    return Operation(
        **{name: row[name] for name in _PLAIN},
        steps=[OperationStep(**step) for step in row["steps"]],
        progress=OperationProgress(**row["progress"]) if row["progress"] else None,
        failure=OperationFailure(**row["failure"]) if row["failure"] else None,
        forced=OperationForced(**row["forced"]) if row["forced"] else None,
        allowed_actions=identity.allowed_actions(caller, possible),
    )


def forcible(row: DictRow) -> bool:
    """A live one that nobody can end otherwise, or a teardown whose proof is missing."""
    if row["status"] in LIVE:
        return bool(row["attempt"] > 0)
    unproven = row["status"] in ("failed", "expired") and row["kind"] in TEARDOWNS
    return bool(unproven and row["forced"] is None and row["attempt"] > 0)


async def claimed_operation(
    connection: Connection, caller: Caller, held: Held, operation: DictRow, lease_token: str
) -> ClaimedOperation:
    mine = {member["id"] for member in concerned(held, operation)}
    places = await placements.places_show(connection, [member["allocation_id"] for member in held.living()])
    instance = held.row
    changing = operation["kind"] in ("upgrade", "rollback")
    return ClaimedOperation(
        operation=operation_of(operation, caller),
        lease_token=lease_token,
        lease_until=operation["lease_until"],
        instance=_instance(instance),
        target_version=_version(instance["attempted"]) if changing and instance["attempted"] else None,
        members=[_member(one, places.get(one["allocation_id"]), one["id"] in mine) for one in held.living()],
    )


def _instance(row: DictRow) -> ControllerInstance:
    same = ("id", "name", "app_slug", "status", "generation", "inputs", "placement_intent", "runtime", "access_bundle")
    projects = [ControllerProject(**one) for one in row["projects"]]
    return ControllerInstance(**{name: row[name] for name in same}, version=_version(row), projects=projects)


def _version(row: DictRow) -> ControllerVersion:
    return ControllerVersion(**{name: row[name] for name in ControllerVersion.model_fields})


def _member(row: DictRow, place: Place | None, concerned: bool) -> ControllerMember:
    same = ("id", "component_key", "ordinal", "status", "adapter_detail", "host_gone")
    allocation = None
    if place is not None:
        allocation = ControllerAllocation(**{name: getattr(place, name) for name in ControllerAllocation.model_fields})
    return ControllerMember(**{name: row[name] for name in same}, allocation=allocation, concerned=concerned)
