"""Rows of instances and members as the wire sees them."""

from typing import Any

from psycopg.rows import DictRow

from gpuaas_server.identity import service as identity
from gpuaas_server.instances.flags import untrusted
from gpuaas_server.instances.machine import SETTLED, members_changeable, possible_actions, possible_member_kinds
from gpuaas_server.instances.modes import VERBS, closed, open_kinds
from gpuaas_server.instances.schemas import (
    HealthReason,
    Instance,
    InstanceMember,
    InstanceProject,
    InstanceSummary,
    InstanceVersion,
    PlacementIntent,
)
from gpuaas_server.operations.schemas import OperationFailure

_DERIVED = {"failure", "health_reasons", "allowed_actions"}
_PLAIN = InstanceSummary.model_fields.keys() - _DERIVED
_MEMBER = InstanceMember.model_fields.keys() - {"failure", "allowed_actions", "allocation_project_id"}


def roles_over(row: DictRow, project_id: str, roles: frozenset[str]) -> frozenset[str]:
    """What the caller's roles in a project count for on this instance: nothing, where it is another's that serves it."""
    return roles if row["project_id"] == project_id else frozenset()


def summary_of(row: DictRow, roles: frozenset[str]) -> InstanceSummary:
    return InstanceSummary(**_shared(row, roles))


def instance_of(row: DictRow, roles: frozenset[str]) -> Instance:
    shared = _shared(row, roles)
    shared["allowed_actions"] += identity.allowed_actions(roles, _serving(row))
    return Instance(
        **shared,
        inputs=row["inputs"],
        placement_intent=[PlacementIntent(**place) for place in row["placement_intent"]],
        projects=[InstanceProject(**one) for one in row["projects"]],
        runtime=row["runtime"],
        access_bundle=row["access_bundle"],
        mode=row["mode"],
        previous_version=_version(row["previous"]),
        attempted_version=_version(row["attempted"]),
        flags=[HealthReason(**flag) for flag in row["flags"]],
        health_reported_at=row["reported_at"],
    )


def _shared(row: DictRow, roles: frozenset[str]) -> dict[str, Any]:
    failure = row["failure"] if row["status"] in SETTLED else None  # kept on the way, see Held.become
    return {
        **{name: row[name] for name in _PLAIN},
        "failure": OperationFailure(**failure) if failure else None,
        "health_reasons": [HealthReason(**reason) for reason in row["health_reasons"]],
        "allowed_actions": _allowed(row, roles),
    }


def _allowed(row: DictRow, roles: frozenset[str]) -> list[str]:
    back = row["previous"] is not None or row["attempted"] is not None
    actions = possible_actions(row["status"], *_standing(row), back, untrusted(row))
    shut = {f"instance_{kind}" for kind in VERBS if closed(row["mode"], kind)}
    shut |= {"member_operation_create"} if closed(row["mode"], "add") else set()
    return identity.allowed_actions(roles, [action for action in actions if action not in shut])


def _serving(row: DictRow) -> list[str]:
    """What may be asked about the projects that it serves; a list does not say, since manifests are large."""
    _, gone, live = _standing(row)
    if gone or live is not None or not row["manifest"].get("tenant_scope"):
        return []
    further = any(not one["home"] for one in row["projects"])
    return ["served_project_set", *(["served_project_remove"] if further else [])]


def _standing(row: DictRow) -> tuple[bool, bool, str | None]:
    """Deployed once; gone for good; and what operations work on now."""
    live = "instance" if row["operation_id"] is not None else "member" if row["members_busy"] else None
    return row["deployed_at"] is not None, row["decommissioned_at"] is not None, live


def _version(document: DictRow | None) -> InstanceVersion | None:
    if document is None:
        return None
    return InstanceVersion(**{name: document[name] for name in InstanceVersion.model_fields})


def member_of(row: DictRow, instance: DictRow, roles: frozenset[str]) -> InstanceMember:
    """`allowed_actions` are kinds of member operations, for those who may ask for them."""
    failure = row["failure"]
    changeable = members_changeable(instance["status"], *_standing(instance))
    kinds = possible_member_kinds(row["status"], row["operation_id"] is not None, changeable, untrusted(instance))
    if not row["host_gone"]:  # one without a machine must be able to go
        kinds = open_kinds(instance["mode"], kinds, row["component_key"])
    may = bool(identity.allowed_actions(roles, ["member_operation_create"]))
    return InstanceMember(
        **{name: row[name] for name in _MEMBER},
        allocation_project_id=row["place_project_id"] or instance["project_id"],
        failure=OperationFailure(**failure) if failure else None,
        allowed_actions=kinds if may else [],
    )
