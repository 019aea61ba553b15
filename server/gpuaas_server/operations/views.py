"""The wire type of an operation, made from its row."""

from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.operation_kinds import TEARDOWNS
from gpuaas_server.operations.machine import LIVE, possible_actions
from gpuaas_server.operations.rows import OperationRow
from gpuaas_server.operations.schemas import (
    Operation,
    OperationFailure,
    OperationForced,
    OperationProgress,
    OperationStep,
)

_PLAIN = Operation.model_fields.keys() - {"steps", "progress", "failure", "forced", "allowed_actions"}


def operation_of(row: OperationRow, caller: Caller) -> Operation:
    asked = row.cancel_requested_at is not None
    possible = possible_actions(row.status, row.phase, row.target, asked, forcible(row))
    return Operation(
        **{name: getattr(row, name) for name in _PLAIN},
        steps=[OperationStep.model_validate(step) for step in row.steps],
        progress=OperationProgress.model_validate(row.progress) if row.progress else None,
        failure=OperationFailure.model_validate(row.failure) if row.failure else None,
        forced=OperationForced.model_validate(row.forced) if row.forced else None,
        allowed_actions=identity.allowed_actions(caller, possible),
    )


def forcible(row: OperationRow) -> bool:
    """Tell whether the operation is live and begun, or is a teardown whose proof is missing."""
    if row.status in LIVE:
        return row.attempt > 0
    unproven = row.status in ("failed", "expired") and row.kind in TEARDOWNS
    return unproven and row.forced is None and row.attempt > 0
