"""Secrets that the members of an instance share are made anew when somebody who knew them has left.

The app's manifest says that there are any (`shared_secrets`). The platform asks for it by a `reconcile` of its own, with the
parameter `rotate_secrets`, as soon as nothing else works on the instance; the lease machinery carries it through crashes.
"""

from psycopg.rows import DictRow

from gpuaas_server.instances.held import Held
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.operations.starting import Wish, instance_operation_start

PARAMETER = "rotate_secrets"
REASON = "somebody who knew its secrets has left"


def is_rotation(operation: DictRow) -> bool:
    return operation["parameters"].get(PARAMETER) is True


def note_departure(held: Held) -> None:
    """A member, or a project that was served, is gone and may have kept what it knew. The caller stores."""
    if held.row["manifest"].get("shared_secrets") and not held.row["secrets_stale"]:
        held.change(secrets_stale=True)


async def go_on(held: Held) -> None:
    """Ask for the rotation that is due, if nothing is in its way; else it is asked for when that has ended."""
    row = held.row
    at_rest = row["status"] == "running" and row["decommissioned_at"] is None and held.live_operation() is None
    if row["secrets_stale"] and at_rest:
        held.change(secrets_stale=False)
        await instance_operation_start(held, Wish("reconcile", REASON, None, {PARAMETER: True}))


def problem_while_rotating(operation: DictRow) -> Problem:
    """The refusal of what was asked for while a rotation is under way."""
    message = (
        f"{operation['id']} is not finished: the secrets that the members share are made anew, because {REASON}."
        " Ask again when it has ended."
    )
    return Problem("operation_in_progress", message, {"operation_id": operation["id"]})


def note_failure(held: Held, operation: DictRow) -> None:
    """It is due again: after the next operation, whoever asks for that."""
    if is_rotation(operation):
        held.change(secrets_stale=True)
