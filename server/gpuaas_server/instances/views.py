"""The wire types of instances and members, made from their rows."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from gpuaas_server.identity import service as identity
from gpuaas_server.instances.controller_schemas import Mode
from gpuaas_server.instances.drift_views import drift_of
from gpuaas_server.instances.machine import (
    CLOSABLE_VERBS,
    SETTLED,
    closed,
    members_changeable,
    open_kinds,
    possible_actions,
    possible_member_kinds,
)
from gpuaas_server.instances.member_problems import MemberProblem, member_health, problem_of
from gpuaas_server.instances.rows import InstanceRow, InstanceSummaryRow, ListedInstanceRow, MemberRow, VersionDocument
from gpuaas_server.instances.schemas import (
    HealthReason,
    Instance,
    InstanceMember,
    InstanceProject,
    InstanceSummary,
    InstanceVersion,
    MemberHealthReason,
    MemberProbe,
    PlacementIntent,
)
from gpuaas_server.instances.version_check import can_roll_back, runs_refused
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.operations.schemas import OperationFailure
from gpuaas_server.operations.service import ADD

_DERIVED = {"failure", "health_reasons", "allowed_actions", "runtime_version"}
_PLAIN = InstanceSummary.model_fields.keys() - _DERIVED
_MEMBER_DERIVED = {"failure", "health", "health_reasons", "probes", "allowed_actions", "allocation_project_id"}
_MEMBER = InstanceMember.model_fields.keys() - _MEMBER_DERIVED


def caller_over(row: InstanceSummaryRow, caller: Caller) -> Caller:
    """Return the caller as this instance sees them: without roles, where they come from a project that it only serves."""
    return caller if row.project_id == caller.project_id else replace(caller, roles=frozenset(), apps=frozenset())


def summary_of(row: ListedInstanceRow, caller: Caller) -> InstanceSummary:
    return InstanceSummary(**_shared(row, caller))


def instance_of(row: InstanceRow, caller: Caller, now: datetime) -> Instance:
    shared = _shared(row, caller)
    shared["allowed_actions"] += identity.allowed_actions(caller, _serving(row))
    return Instance(
        **shared,
        inputs=row.inputs,
        placement_intent=[PlacementIntent(**place) for place in row.placement_intent],
        projects=[InstanceProject(**one) for one in row.projects],
        declared_runtime_version=row.runtime_version,
        runtime_profile=row.manifest.get("runtime_profile"),
        component_profiles=_component_profiles(row),
        runtime=row.runtime,
        access_bundle=None if row.decommissioned_at is not None else row.access_bundle,
        mode=None if row.mode is None else Mode.model_validate(row.mode),
        previous_version=_version(row.previous),
        attempted_version=_version(row.attempted),
        flags=[HealthReason(**flag) for flag in row.flags],
        health_reported_at=row.reported_at,
        drift=drift_of(row, now),
    )


def _component_profiles(row: InstanceRow) -> dict[str, dict[str, object]]:
    components = row.manifest["components"]
    return {one["key"]: one["runtime_profile"] for one in components if "runtime_profile" in one}


def _shared(row: InstanceRow | ListedInstanceRow, caller: Caller) -> dict[str, Any]:
    failure = row.failure if row.status in SETTLED else None  # kept on the way, see LockedInstance.set_status
    return {
        **{name: getattr(row, name) for name in _PLAIN},
        "runtime_version": row.reported_runtime_version or row.runtime_version,
        "failure": OperationFailure(**failure) if failure else None,
        "health_reasons": [HealthReason(**reason) for reason in row.health_reasons],
        "allowed_actions": _allowed(row, caller),
    }


def _allowed(row: InstanceRow | ListedInstanceRow, caller: Caller) -> list[str]:
    actions = possible_actions(row.status, *_deployment_state(row), can_roll_back(row), runs_refused(row))
    if row.decommissioned_at is None:
        actions += ["instance_update", "log_read"]
    shut = {f"instance_{kind}" for kind in CLOSABLE_VERBS if closed(row.mode, kind)}
    shut |= {"member_operation_create"} if closed(row.mode, ADD) else set()
    return identity.allowed_actions(caller, [action for action in actions if action not in shut])


def _serving(row: InstanceRow) -> list[str]:
    """List the actions on served projects. A list of instances leaves them out, since it has no manifests."""
    _, gone, live = _deployment_state(row)
    if gone or live is not None or not row.manifest.get("tenant_scope"):
        return []
    further = any(not one["home"] for one in row.projects)
    return ["served_project_set", *(["served_project_remove"] if further else [])]


def _deployment_state(row: InstanceSummaryRow) -> tuple[bool, bool, str | None]:
    """Say whether it was deployed, whether it is gone for good, and what operations work on now.

    A rotation of secrets that has not begun does not count: requests by people take precedence (operation_requests).
    """
    whole = row.operation_id is not None and not row.rotation_waits
    live = "instance" if whole else "member" if row.members_busy else None
    return row.deployed_at is not None, row.decommissioned_at is not None, live


def _version(document: VersionDocument | None) -> InstanceVersion | None:
    if document is None:
        return None
    return InstanceVersion(
        version=document["version"], runtime_version=document["runtime_version"], digest=document["digest"]
    )


def member_of(row: MemberRow, instance: InstanceRow, caller: Caller) -> InstanceMember:
    """Describe the member. `allowed_actions` are kinds of member operations, for those who may ask for them."""
    failure = row.failure
    changeable = members_changeable(instance.status, *_deployment_state(instance))
    kinds = possible_member_kinds(row.status, row.operation_id is not None, changeable, runs_refused(instance))
    if not row.host_gone:  # one without a machine must be able to go
        kinds = open_kinds(instance.mode, kinds, row.component_key)
    may = bool(identity.allowed_actions(caller, ["member_operation_create"]))
    problem = problem_of(row, instance.operation_id is not None)
    return InstanceMember(
        **{name: getattr(row, name) for name in _MEMBER},
        allocation_project_id=row.place_project_id or instance.project_id,
        failure=OperationFailure(**failure) if failure else None,
        health=member_health(row.status, problem),
        health_reasons=[] if problem is None else [_member_reason(problem)],
        probes=_probes(row),
        allowed_actions=kinds if may else [],
    )


def _probes(row: MemberRow) -> list[MemberProbe]:
    states = row.probe_states
    same = ("key", "kind", "purpose", "port", "path", "unit")
    return [
        MemberProbe.model_validate(
            {
                **{name: value for name, value in probe.items() if name in same},
                **states.get(probe["key"], {"status": "pending", "since": None, "answer": ""}),
            }
        )
        for probe in row.probes
    ]


def _member_reason(problem: MemberProblem) -> MemberHealthReason:
    return MemberHealthReason(
        code=problem.code, message=problem.message, next_step=problem.next_step, since=problem.since
    )
