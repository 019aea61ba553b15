"""The verbs of deletions: ask for one, and undo it. Tenants and projects are deleted in the same way."""

from datetime import timedelta

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.deletions import queries
from gpuaas_server.deletions.machine import can_undo, describe
from gpuaas_server.deletions.progress import count_stuck
from gpuaas_server.deletions.queries import NewDeletion
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import RequireMatch, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.projects import service as projects
from gpuaas_server.projects.schemas import Project, Tenant
from gpuaas_server.projects.service import DeletionTarget
from gpuaas_server.work import leases

__all__ = [
    "WORK",
    "count_stuck",
    "project_delete",
    "project_undelete",
    "projects_of",
    "tenant_delete",
    "tenant_undelete",
]

WORK = "deletion"


async def tenant_delete(tx: Tx, settings: Settings, caller: Caller, require_match: RequireMatch) -> Tenant:
    await _schedule(tx, settings, await projects.lock_tenant(tx, caller.tenant_id), require_match)
    return await projects.tenant_show(tx.connection, caller)


async def tenant_undelete(tx: Tx, caller: Caller, require_match: RequireMatch) -> Tenant:
    await _undo(tx, await projects.lock_tenant(tx, caller.tenant_id), require_match)
    return await projects.tenant_show(tx.connection, caller)


async def project_delete(tx: Tx, settings: Settings, caller: Caller, require_match: RequireMatch) -> Project:
    await _schedule(tx, settings, await projects.lock_project(tx, caller.project_id), require_match)
    return await projects.project_show(tx.connection, caller)


async def project_undelete(tx: Tx, caller: Caller, require_match: RequireMatch) -> Project:
    await _undo(tx, await projects.lock_project(tx, caller.project_id), require_match)
    return await projects.project_show(tx.connection, caller)


async def projects_of(connection: Connection, tenant_id: str, project_id: str | None) -> list[str]:
    return [project_id] if project_id else await queries.project_ids(connection, tenant_id)


async def _schedule(tx: Tx, settings: Settings, target: DeletionTarget, require_match: RequireMatch) -> None:
    """Schedule the deletion. A repeated request changes nothing, not even the date."""
    require_match(target.generation)
    if target.delete_after is not None:
        tx.audited = True
        return
    of_target = await projects_of(tx.connection, target.tenant_id, target.project_id)
    left = await queries.leftovers(tx.connection, of_target)
    if left:
        details: dict[str, object] = {"left": [{"what": one.what, "count": one.count} for one in left]}
        raise Problem("not_empty", describe(target.noun, left), details)
    moment = tx.now + timedelta(days=settings.deletion_grace_days)
    deletion = NewDeletion(new_id("del"), target.tenant_id, target.project_id, tx.actor.id, tx.now)
    await projects.set_delete_after(tx, target, moment)
    await queries.deletion_insert(tx.connection, deletion)
    await leases.enqueue(tx, WORK, [deletion.id], run_at=moment, flow=target.tenant_id)
    await _announce(tx, target, f"{target.noun}_delete", "deletion_scheduled", {"delete_after": moment.isoformat()})


async def _undo(tx: Tx, target: DeletionTarget, require_match: RequireMatch) -> None:
    require_match(target.generation)
    deletion = await queries.deletion_lock_live(tx.connection, target.tenant_id, target.project_id)
    if deletion is None:
        raise Problem("conflict", f"The deletion of this {target.noun} was not requested.")
    if not can_undo(deletion.state):
        raise Problem("conflict", f"The grace period is over: the {target.noun} is being removed.")
    await queries.deletion_ended(tx.connection, deletion.id, "undone", tx.now)
    await projects.set_delete_after(tx, target, None)
    await _announce(tx, target, f"{target.noun}_undelete", "deletion_undone", {})


async def _announce(tx: Tx, target: DeletionTarget, action: str, event: str, details: dict[str, object]) -> None:
    where = (target.id, target.tenant_id, target.project_id)
    await record(tx, AuditEntry(action, *where, details=details))
    await emit(tx, NewEvent(f"{target.noun}.{event}", *where, details))
