"""Rows of instances and members as the wire sees them."""

from typing import Any

from psycopg.rows import DictRow

from gpuaas_server.identity import service as identity
from gpuaas_server.instances.machine import MEMBER_FROM, possible_verbs
from gpuaas_server.instances.schemas import (
    HealthReason,
    Instance,
    InstanceMember,
    InstanceSummary,
    InstanceVersion,
    PlacementIntent,
)
from gpuaas_server.operations.schemas import OperationFailure

_DERIVED = {"failure", "health_reasons", "allowed_actions"}
_PLAIN = InstanceSummary.model_fields.keys() - _DERIVED
_MEMBER = InstanceMember.model_fields.keys() - {"failure", "allowed_actions"}


def summary_of(row: DictRow, roles: frozenset[str]) -> InstanceSummary:
    return InstanceSummary(**_shared(row, roles))


def instance_of(row: DictRow, roles: frozenset[str]) -> Instance:
    return Instance(
        **_shared(row, roles),
        inputs=row["inputs"],
        placement_intent=[PlacementIntent(**place) for place in row["placement_intent"]],
        runtime=row["runtime"],
        access_bundle=row["access_bundle"],
        previous_version=_version(row["previous"]),
        attempted_version=_version(row["attempted"]),
        flags=[HealthReason(**flag) for flag in row["flags"]],
        health_reported_at=row["reported_at"],
    )


def _shared(row: DictRow, roles: frozenset[str]) -> dict[str, Any]:
    failure = row["failure"]
    return {
        **{name: row[name] for name in _PLAIN},
        "failure": OperationFailure(**failure) if failure else None,
        "health_reasons": [HealthReason(**reason) for reason in row["health_reasons"]],
        "allowed_actions": _allowed(row, roles),
    }


def _allowed(row: DictRow, roles: frozenset[str]) -> list[str]:
    """`operation_in_progress` may still answer a verb: what works on single members is not looked at here."""
    back = row["previous"] is not None or row["attempted"] is not None
    gone, busy = row["decommissioned_at"] is not None, row["operation_id"] is not None
    verbs = possible_verbs(row["status"], row["deployed_at"] is not None, gone, busy, back)
    actions = [f"instance_{verb}" for verb in verbs]
    if not gone and not busy and row["deployed_at"] is not None and row["status"] in ("running", "failed"):
        actions.append("member_operation_create")
    return identity.allowed_actions(roles, actions)


def _version(document: DictRow | None) -> InstanceVersion | None:
    if document is None:
        return None
    return InstanceVersion(**{name: document[name] for name in InstanceVersion.model_fields})


def member_of(row: DictRow, instance_busy: bool, roles: frozenset[str]) -> InstanceMember:
    """`allowed_actions` are kinds of member operations, for those who may ask for them."""
    failure = row["failure"]
    free = not instance_busy and row["operation_id"] is None
    kinds = [kind for kind, before in MEMBER_FROM.items() if free and row["status"] in before]
    may = bool(identity.allowed_actions(roles, ["member_operation_create"]))
    return InstanceMember(
        **{name: row[name] for name in _MEMBER},
        failure=OperationFailure(**failure) if failure else None,
        allowed_actions=kinds if may else [],
    )
