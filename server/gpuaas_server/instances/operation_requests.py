"""Checks what must be true before a person's request may start an operation; every verb that starts one asks here."""

from gpuaas_server.instances import drift_attempts, secret_rotation
from gpuaas_server.instances.locked_instance import LockedInstance
from gpuaas_server.instances.operation_completion import finish_operation, is_unclaimed
from gpuaas_server.instances.operation_start import operation_in_progress, refuse_while_busy
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.failures import failure
from gpuaas_server.operations import service as operations


def require_living(locked: LockedInstance) -> None:
    if locked.row.decommissioned_at is not None:
        raise Problem("conflict", "The instance is decommissioned; it is kept for its history only.")


async def require_idle(locked: LockedInstance) -> None:
    """Refuse while an operation is live on the instance or on one of its members."""
    await require_no_instance_operation(locked)
    refuse_while_busy(locked)


async def require_no_instance_operation(locked: LockedInstance) -> None:
    """Refuse while an operation is live on the whole instance."""
    await _set_own_aside(locked)
    live = locked.row.operation_id
    if live is not None:
        raise operation_in_progress(live)


async def _set_own_aside(locked: LockedInstance) -> None:
    """Cancel what the platform itself requested and no controller has claimed: requests by people take precedence.

    Afterwards a rotation of secrets is due again, and drift that is still there is mended. A rotation that is under way
    takes a moment, and the refusal says what it is.
    """
    if locked.row.operation_id is None:
        return
    for operation in await operations.live_lock(locked.tx.connection, locked.id):
        if secret_rotation.is_rotation(operation):
            if not is_unclaimed(operation):
                raise secret_rotation.problem_while_rotating(operation)
        elif drift_attempts.is_attempt(locked, operation) and is_unclaimed(operation):
            drift_attempts.set_aside(locked)
        else:
            continue
        why = failure(
            "cancelled",
            "Another operation was requested before this one began. This one is requested again afterwards.",
        )
        await finish_operation(locked, operation, "cancelled", why, follow=False)
