"""Secrets that the members of an instance share are made anew when somebody who knew them has left, or somebody asks.

The app's manifest says that there are any: `secrets`, which the platform keeps (instance_secrets.py), and `shared_secrets`,
which the app keeps itself. The platform asks for it by a `reconcile` of its own, with the parameter `rotate_secrets` and the
names of those that it keeps (`secrets`), as soon as nothing else works on the instance; the lease machinery carries it
through crashes.
"""

from collections.abc import Iterable

from gpuaas_server.instances import secret_queries
from gpuaas_server.instances.locked_instance import LockedInstance
from gpuaas_server.instances.operation_start import start_instance_operation
from gpuaas_server.instances.secret_values import ROTATED, rotated_names, shared_names
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.operations.service import KINDS, OperationRequest, OperationRow
from gpuaas_server.secrets import service as secrets

PARAMETER = "rotate_secrets"
REASON = "secrets are made anew, because somebody who knew them has left or somebody asked for it"


def is_rotation(operation: OperationRow) -> bool:
    return operation.parameters.get(PARAMETER) is True


def mark_secrets_stale(locked: LockedInstance) -> None:
    """Note that a member or a served project is gone and may have kept what it knew. The caller stores the instance."""
    row = locked.row
    generated = shared_names(row.manifest, "generated")
    if row.manifest.get("shared_secrets") or generated:
        mark_due(locked, generated)
    given = shared_names(row.manifest, "given")
    if set(given) - set(row.secrets_exposed):
        locked.change(secrets_exposed=sorted({*row.secrets_exposed, *given}))


def mark_due(locked: LockedInstance, names: Iterable[str]) -> None:
    """Note that members are to get other values of these secrets."""
    due = sorted({*locked.row.secrets_due, *names})
    if not locked.row.secrets_stale or due != locked.row.secrets_due:
        locked.change(secrets_stale=True, secrets_due=due)


def note_given(locked: LockedInstance, name: str) -> None:
    """Note that a person has given a value: members are to get it, and nobody who left knows it."""
    locked.change(secrets_exposed=[one for one in locked.row.secrets_exposed if one != name])
    if locked.row.deployed_at is not None:  # a first deploy reads it anyway
        mark_due(locked, [name])


async def start_due_rotation(locked: LockedInstance) -> str | None:
    """Start the rotation that is due, if no operation is in its way; else it starts when that operation has ended."""
    row = locked.row
    at_rest = row.status == "running" and row.decommissioned_at is None and locked.live_operation() is None
    if not row.secrets_stale or not at_rest:
        return None
    named: dict[str, object] = {ROTATED: row.secrets_due} if row.secrets_due else {}
    locked.change(secrets_stale=False, secrets_due=[])
    return await start_instance_operation(
        locked, OperationRequest("reconcile", REASON, None, {PARAMETER: True, **named})
    )


def problem_while_rotating(operation: OperationRow) -> Problem:
    """Return the refusal of what was asked for while a rotation is under way."""
    message = f"{operation.id} is not finished: {REASON}. Ask again when it has ended."
    return Problem("operation_in_progress", message, {"operation_id": operation.id})


def note_failure(locked: LockedInstance, operation: OperationRow) -> None:
    """Make a failed rotation due again after the next operation, whoever requests that operation."""
    if is_rotation(operation):
        mark_due(locked, rotated_names(operation))


async def destroy_replaced(locked: LockedInstance, operation: OperationRow) -> None:
    """Destroy values that no member has any more: those before a rotation that succeeded, and all of an instance that is
    gone.
    """
    gone = KINDS[operation.kind].ends_instance
    if not gone and not is_rotation(operation):
        return
    connection = locked.tx.connection
    for row in (await secret_queries.secrets_of(connection, locked.id)).values():
        if gone or row.name in rotated_names(operation):
            await secrets.secret_destroy(locked.tx, row.secret_id, row.version if gone else row.version - 1)
    if gone:
        await secret_queries.secrets_delete(connection, locked.id)
