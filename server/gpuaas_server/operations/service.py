"""Operations as people see them: list, show, cancel, force. What controllers do is in controller.py."""

from psycopg.rows import DictRow

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.identity import service as identity
from gpuaas_server.instances.held import Held
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.operations import queries, secret_rotation, teardown
from gpuaas_server.operations.context import forcible, operation_of
from gpuaas_server.operations.controller import LeasedOperation, lease_of
from gpuaas_server.operations.ending import bulk_follow, finish, succeeded, torn_down
from gpuaas_server.operations.holding import hold
from gpuaas_server.operations.machine import LIVE, TEARDOWNS, VERIFYING, failure
from gpuaas_server.operations.schemas import Operation

__all__ = ["LeasedOperation", "lease_of", "operation_cancel", "operation_force", "operation_list", "operation_show"]


async def operation_show(connection: Connection, caller: Caller, project_id: str, operation_id: str) -> Operation:
    row = await queries.operation_show(connection, project_id, operation_id, identity.apps_in_sight(caller))
    if row is None:
        raise not_found("operation", operation_id)
    return operation_of(row, caller)


async def operation_list(
    connection: Connection,
    caller: Caller,
    project_id: str | None,
    instance_id: str | None,
    parent_id: str | None,
    status: str | None,
    after: str | None,
    limit: int,
) -> Page[Operation]:
    seen = identity.apps_in_sight(caller)
    rows = await queries.operation_list(connection, project_id, instance_id, parent_id, status, after, limit + 1, seen)
    return Page[Operation].of([operation_of(row, caller) for row in rows], limit)


async def operation_cancel(tx: Tx, caller: Caller, project_id: str, operation_id: str, reason: str | None) -> Operation:
    """At once while nobody works on it; otherwise the controller is asked to stop at the next safe place."""
    held, operation = await hold(tx, project_id, operation_id)
    if operation["status"] not in LIVE:
        raise Problem("conflict", f"It is {operation['status']} already.")
    if operation["phase"] == VERIFYING:
        raise Problem("conflict", "The controller is done; what is left is the proof. Wait for it, or force it.")
    if operation["target"] == "bulk":
        await _cancel_children(held, operation, reason)
        changed = await queries.operation_show(tx.connection, project_id, operation_id) or operation
    else:
        changed = await _cancel(held, operation, reason)
    await held.store()
    await _recorded(tx, "operation_cancel", operation, reason)
    return operation_of(changed, caller)


async def _cancel(held: Held, operation: DictRow, reason: str | None, follow: bool = True) -> DictRow:
    if operation["status"] == "pending":
        why = failure("cancelled", f"{held.tx.actor.name} cancelled it{f': {reason}' if reason else '.'}")
        return await finish(held, operation, "cancelled", why, follow=follow)
    if operation["cancel_requested_at"] is not None:
        return operation
    held.news("operation.cancel_requested", operation["id"], kind=operation["kind"])
    return await queries.operation_change(held.tx.connection, operation["id"], {"cancel_requested_at": held.tx.now})


async def _cancel_children(held: Held, parent: DictRow, reason: str | None) -> None:
    connection = held.tx.connection
    live = [child["id"] for child in await queries.children_of(connection, parent["id"]) if child["status"] in LIVE]
    for child in await queries.operations_lock(connection, live):
        if child["phase"] != VERIFYING:
            await _cancel(held, child, reason, follow=False)
    await queries.operation_change(connection, parent["id"], {"cancel_requested_at": held.tx.now})
    await bulk_follow(held, parent["id"])


async def operation_force(tx: Tx, caller: Caller, project_id: str, operation_id: str, reason: str) -> Operation:
    """End what cannot end otherwise. A teardown then counts as done, and as not verified for ever."""
    held, operation = await hold(tx, project_id, operation_id)
    if operation["target"] == "bulk" or not forcible(operation):
        raise Problem("conflict", f"It is {operation['status']}, and there is nothing to force.")
    forced: dict[str, object] = {"by": tx.actor.id, "at": tx.now.isoformat(), "reason": reason, "verified": False}
    members = torn_down(held, operation)  # as they are before they count as gone
    if operation["status"] in LIVE:
        why = failure("forced_end", f"{tx.actor.name} ended it: {reason}")
        changed = await finish(held, operation, "failed", why, verified=False, forced=forced)
    else:
        changed = await _force_ended(held, operation, forced)
    if operation["kind"] in TEARDOWNS:
        await teardown.proof_forced(held, operation, members, reason)
    held.news("operation.forced", operation_id, kind=operation["kind"])
    await held.store()
    await _recorded(tx, "operation_force", operation, reason, {"verified": False})
    return operation_of(changed, caller)


async def _force_ended(held: Held, operation: DictRow, forced: dict[str, object]) -> DictRow:
    """A teardown that failed. Only the last word counts: what was done since then is not undone."""
    if operation["target"] == "instance":
        current = held.row["status"] == "failed" and held.row["last_operation_id"] == operation["id"]
    else:
        member = held.members.get(operation["member_id"])
        # Whatever its health was reported to be since: a removal that failed can be forced until something else was asked.
        current = member is not None and member["last_operation_id"] == operation["id"]
    live = held.live_operation()
    if not current or live is not None:
        raise Problem("conflict", "Something else was done since then.", {"operation_id": live} if live else {})
    succeeded(held, operation, verified=False)
    await secret_rotation.go_on(held)
    return await queries.operation_change(held.tx.connection, operation["id"], {"forced": forced})


async def _recorded(
    tx: Tx, action: str, operation: DictRow, reason: str | None, details: dict[str, object] | None = None
) -> None:
    facts = {"kind": operation["kind"], "instance": operation["instance_id"], **(details or {})}
    place = (operation["id"], operation["tenant_id"], operation["project_id"])
    await record(tx, AuditEntry(action, *place, reason=reason, details=facts))
