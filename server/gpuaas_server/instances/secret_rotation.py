"""Secrets that the members of an instance share are made anew when somebody who knew them has left.

The app's manifest says that there are any (`shared_secrets`). The platform asks for it by a `reconcile` of its own, with the
parameter `rotate_secrets`, as soon as nothing else works on the instance; the lease machinery carries it through crashes.
"""

from gpuaas_server.instances.locked import LockedInstance
from gpuaas_server.instances.operation_start import start_instance_operation
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.operations.service import OperationRequest, OperationRow

PARAMETER = "rotate_secrets"
REASON = "somebody who knew its secrets has left"


def is_rotation(operation: OperationRow) -> bool:
    return operation.parameters.get(PARAMETER) is True


def mark_secrets_stale(locked: LockedInstance) -> None:
    """Note that a member or a served project is gone and may have kept what it knew. The caller stores the instance."""
    if locked.row.manifest.get("shared_secrets") and not locked.row.secrets_stale:
        locked.change(secrets_stale=True)


async def start_due_rotation(locked: LockedInstance) -> None:
    """Start the rotation that is due, if no operation is in its way; else it starts when that operation has ended."""
    row = locked.row
    at_rest = row.status == "running" and row.decommissioned_at is None and locked.live_operation() is None
    if row.secrets_stale and at_rest:
        locked.change(secrets_stale=False)
        await start_instance_operation(locked, OperationRequest("reconcile", REASON, None, {PARAMETER: True}))


def problem_while_rotating(operation: OperationRow) -> Problem:
    """The refusal of what was asked for while a rotation is under way."""
    message = (
        f"{operation.id} is not finished: the secrets that the members share are made anew, because {REASON}."
        " Ask again when it has ended."
    )
    return Problem("operation_in_progress", message, {"operation_id": operation.id})


def note_failure(locked: LockedInstance, operation: OperationRow) -> None:
    """Make a rotation that failed due again after the next operation, whoever asks for that."""
    if is_rotation(operation):
        locked.change(secrets_stale=True)
