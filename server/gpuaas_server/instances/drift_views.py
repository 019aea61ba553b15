"""Shows drift to people, made from what the instance keeps."""

from datetime import datetime

from gpuaas_server.instances.drift import BUDGET
from gpuaas_server.instances.drift_rows import Drift
from gpuaas_server.instances.drift_schemas import DriftMember, InstanceDrift
from gpuaas_server.instances.rows import InstanceRow


def drift_of(row: InstanceRow, now: datetime) -> InstanceDrift | None:
    """Return None where there is no drift, or the policy does not look at it."""
    drift = Drift.of(row.drift)
    if row.reconcile_policy == "off" or row.decommissioned_at is not None:
        return None
    if drift.noticed_at is None:
        return None
    state, message, next_step, code = _state(row, drift)
    recent = drift.recent(now)
    return InstanceDrift.model_validate(
        {
            "state": state,
            "message": message,
            "next_step": next_step,
            "code": code,
            "noticed_at": drift.noticed_at,
            "members": [DriftMember(**one) for one in drift.members],
            "attempts": recent,
            "attempts_left": max(0, BUDGET - len(recent)),
            "next_attempt_at": drift.next_attempt_at,
            "operation_id": drift.last_operation_id,
        }
    )


def _state(row: InstanceRow, drift: Drift) -> tuple[str, str, str | None, str | None]:
    if drift.operation_id is not None:
        return "reconciling", f"The platform requested {drift.operation_id}.", None, None
    for state, why in (("stopped", drift.stopped), ("blocked", drift.blocked)):
        if why is not None:
            return state, why["message"], why["next_step"], why["code"]
    if row.reconcile_policy == "auto":
        if drift.next_attempt_at is not None:
            return (
                "scheduled",
                f"The platform requests a reconcile at {drift.next_attempt_at:%H:%M:%S} UTC.",
                None,
                None,
            )
        return "scheduled", "The platform requests a reconcile when the operation in progress has ended.", None, None
    step = "Reconcile or repair the instance, or set its reconcile policy to auto."
    number = len(drift.members)
    return "noticed", f"{number} {'member is' if number == 1 else 'members are'} not as wanted.", step, None
