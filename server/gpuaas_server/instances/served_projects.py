"""The projects that an instance serves: its own from the start, and further ones of its tenant when somebody wants it.

Whoever has it serve a project must be allowed to in both; whoever puts a member on another project's allocation, too. A
project of another tenant is as if it did not exist: for the caller, for the query, and for the database's own constraint.
"""

from collections.abc import Mapping, Sequence

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.catalog.service import Manifest
from gpuaas_server.identity import service as identity
from gpuaas_server.instances import queries, secret_rotation
from gpuaas_server.instances.launch import manifest_of
from gpuaas_server.instances.locked_instance import LockedInstance, lock_instance
from gpuaas_server.instances.machine import possible_verbs
from gpuaas_server.instances.operation_requests import require_idle, require_living
from gpuaas_server.instances.operation_start import refuse_while_busy, start_instance_operation
from gpuaas_server.instances.rows import InstanceRow, MemberRow, NewInstance, NewServedProject
from gpuaas_server.instances.schemas import ServedProject, ServedProjectChanged, ServedProjects
from gpuaas_server.instances.views import instance_of
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.operations import service as operations
from gpuaas_server.operations.service import OperationRequest
from gpuaas_server.projects import service as projects
from gpuaas_server.projects.service import ProjectFacts

MOST_SERVED = 64  # each of them gets the instance's events, and is listed in each claim of its controller


async def served_project_list(connection: Connection, caller: Caller, instance_id: str) -> ServedProjects:
    if await queries.instance_seen(connection, caller.project_id, instance_id, identity.visible_apps(caller)) is None:
        raise not_found("instance", instance_id)
    rows = await queries.projects_served(connection, instance_id)
    return ServedProjects(instance_id=instance_id, items=[ServedProject(**fields_of(row)) for row in rows])


async def served_project_set(tx: Tx, caller: Caller, instance_id: str, project_id: str) -> ServedProjectChanged:
    """Serve the project from now on. A running instance is reconciled; another hears of it with its next start."""
    facts = (await admitted_projects(tx, caller, [project_id], "served_project_set"))[project_id]
    locked = await _lock(tx, caller, instance_id)
    served = project_id == caller.project_id or project_id in locked.served_project_ids
    if served:
        refuse_while_busy(locked)
    else:
        await require_idle(locked)
    require_scope(manifest_of(locked.row))
    if served:
        tx.audited = True  # as it was
        return ServedProjectChanged(instance=instance_of(locked.row, caller, tx.now), operation=None)
    if len(locked.served_project_ids) >= MOST_SERVED:
        raise Problem("conflict", f"The instance serves {MOST_SERVED} further projects, which is the limit.")
    await queries.project_serve(tx.connection, _row(tx, locked.row, facts))
    locked.add_served_project(facts.id, facts.slug)
    return await _changed(locked, caller, "served_project_set", project_id)


async def served_project_remove(tx: Tx, caller: Caller, instance_id: str, project_id: str) -> ServedProjectChanged:
    """Stop serving the project. That is refused while members live on its allocations."""
    locked = await _lock(tx, caller, instance_id)
    if project_id == caller.project_id:
        raise Problem("conflict", "An instance always serves its own project.")
    if project_id not in locked.served_project_ids:
        raise not_found("served project", project_id)
    await require_idle(locked)
    there = [member for member in locked.living_members() if member.place_project_id == project_id]
    if there:
        named: list[object] = [{"id": one.id, "allocation_id": one.allocation_id} for one in there[:20]]
        message = f"{there[0].id} is on {there[0].allocation_id}, which is that project's."
        raise Problem("served_project_in_use", message, {"members": named, "count": len(there)})
    await queries.project_leave(tx.connection, instance_id, project_id, tx.now)
    locked.add_event("instance.project_left", project_id=project_id)  # now, while the project still gets the events
    return await _changed(locked, caller, "served_project_remove", project_id)


async def insert_served_projects(tx: Tx, instance: NewInstance | InstanceRow, further: Sequence[ProjectFacts]) -> None:
    """Insert the further projects of a new instance; the database itself inserts its own."""
    if further:
        await queries.projects_insert(tx.connection, [_row(tx, instance, one) for one in further])


async def admitted_projects(tx: Tx, caller: Caller, project_ids: Sequence[str], action: str) -> dict[str, ProjectFacts]:
    """Return the facts of projects of the tenant, or refuse one in which the caller may not do this."""
    facts = await projects.project_facts(tx.connection, caller.tenant_id, project_ids)
    for project_id in project_ids:
        if project_id not in facts or not caller.roles_in(project_id):
            raise not_found("project", project_id)
        if not identity.is_permitted(caller.in_project(project_id), action, own=True):
            needs: list[object] = list(identity.grants_needed(action))
            message = f"You may not do this in {project_id}, which it concerns too."
            raise Problem("forbidden", message, {"needs": needs, "project_id": project_id})
        if facts[project_id].disabled:
            raise Problem("conflict", f"{facts[project_id].slug} is disabled; nothing in it can be changed.")
    return facts


async def usable_projects(tx: Tx, caller: Caller, action: str, served: Sequence[str]) -> list[str]:
    """List the projects whose allocations the caller may use for an instance that serves these."""
    may = [
        project_id for project_id in served if identity.is_permitted(caller.in_project(project_id), action, own=True)
    ]
    facts = await projects.project_facts(tx.connection, caller.tenant_id, may) if may else {}
    return [caller.project_id, *(one.id for one in facts.values() if not one.disabled)]


async def served_project_ids(connection: Connection, caller: Caller, instance_id: str) -> list[str]:
    """List the further projects without a lock. A caller that locks the instance later must read them again."""
    if await queries.instance_show(connection, caller.project_id, instance_id) is None:
        raise not_found("instance", instance_id)
    return [row.project_id for row in await queries.projects_served(connection, instance_id) if not row.home]


def require_scope(manifest: Manifest) -> None:
    if not manifest.tenant_scope:
        message = (
            f"Version {manifest.version} of {manifest.slug} serves the project that it was launched in, and no other."
        )
        raise Problem("one_project_only", message)


def _allocations_elsewhere(locked: LockedInstance, members: Sequence[MemberRow]) -> dict[str, list[object]]:
    """Group the allocations of other projects that the members are on, by project."""
    found: dict[str, list[object]] = {}
    for member in members:
        if member.place_project_id is not None:
            found.setdefault(member.place_project_id, []).append(member.allocation_id)
    return found


async def record_elsewhere(
    locked: LockedInstance, action: str, members: Sequence[MemberRow], facts: Mapping[str, object]
) -> None:
    """Write the same audit entry to the trail of each further project whose allocations it concerns."""
    entries = [
        AuditEntry(action, locked.id, locked.row.tenant_id, project_id, details={**facts, "allocations": places[:20]})
        for project_id, places in _allocations_elsewhere(locked, members).items()
    ]
    if entries:
        await record(locked.tx, *entries)


async def _lock(tx: Tx, caller: Caller, instance_id: str) -> LockedInstance:
    locked = await lock_instance(tx, caller.project_id, instance_id)
    require_living(locked)
    await locked.load_served_projects()
    return locked


async def _changed(locked: LockedInstance, caller: Caller, action: str, project_id: str) -> ServedProjectChanged:
    """Record the change in both projects, and start the reconcile that tells the controller."""
    tx, row = locked.tx, locked.row
    if action == "served_project_set":
        locked.add_event("instance.project_served", project_id=project_id)
    else:
        secret_rotation.mark_secrets_stale(locked)
    locked.touch()
    operation_id = None
    if "reconcile" in possible_verbs(row.status, row.deployed_at is not None, False, False, False):
        request = OperationRequest(
            "reconcile", "the projects that it serves have changed", None, {"project_id": project_id}
        )
        operation_id = await start_instance_operation(locked, request)
    stored = await locked.store()
    facts: dict[str, object] = {"app": row.app_slug, "project": project_id, "operation": operation_id}
    both = (caller.project_id, project_id)
    await record(tx, *(AuditEntry(action, locked.id, row.tenant_id, place, details=facts) for place in both))
    operation = None
    if operation_id is not None:
        operation = await operations.operation_show(tx.connection, caller, operation_id)
    return ServedProjectChanged(instance=instance_of(stored, caller, locked.tx.now), operation=operation)


def _row(tx: Tx, instance: NewInstance | InstanceRow, facts: ProjectFacts) -> NewServedProject:
    return NewServedProject(
        instance_id=instance.id,
        project_id=facts.id,
        tenant_id=instance.tenant_id,
        slug=facts.slug,
        home=facts.id == instance.project_id,
        since=tx.now,
        added_by=tx.actor.id,
    )
