"""The verbs of tenants and projects, and the place that a project is (for the gate)."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel import wipe_grades
from gpuaas_server.kernel.caller import NOBODY, Caller
from gpuaas_server.kernel.context import Actor, RequireMatch, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.projects import queries
from gpuaas_server.projects.hooks import tenant_hooks
from gpuaas_server.projects.queries import ProjectRow, TenantRow
from gpuaas_server.projects.schemas import (
    Project,
    ProjectCreate,
    ProjectUpdate,
    Tenant,
    TenantCreate,
    TenantUpdate,
)

ProjectFacts = queries.ProjectFacts
Row = TypeVar("Row")
_TENANT_VERBS = (
    "tenant_update",
    "tenant_delete",
    "tenant_export",
    "tenant_user_create",
    "tenant_member_set",
    "tenant_member_remove",
    "tenant_quota_set",
    "project_create",
    "entitlement_grant",
    "entitlement_revoke",
    "controller_consent_give",
    "controller_consent_withdraw",
    "trust_policy_set",
    "trust_key_create",
    "trust_key_revoke",
)
# In a place that is to be deleted, nothing else is allowed.
_DELETING_TENANT_VERBS = ("tenant_undelete", "tenant_export")
_DELETING_PROJECT_VERBS = ("project_undelete", "project_export")
_PROJECT_VERBS = (
    "project_update",
    "project_delete",
    "project_export",
    "project_member_set",
    "project_member_remove",
    "project_quota_set",
    "service_account_create",
    "controller_binding_create",
    "access_credential_create",
    "publish_intent_create",
    "publish_intent_refer",
    "artifact_garbage_collect",
    "allocation_create",
    "instance_create",
)


@dataclass(frozen=True, slots=True)
class CallTarget:
    """The project or tenant that a call is about. `disabled` names which of the two is disabled, if any; `deleting` which is
    to be deleted.
    """

    tenant_id: str
    project_id: str | None = None
    disabled: str = ""
    deleting: str = ""


async def project_target(connection: Connection, project_id: str) -> CallTarget | None:
    row = await queries.project_state(connection, project_id)
    if row is None:
        return None
    disabled = "tenant" if row.tenant_disabled else "project" if row.project_disabled else ""
    deleting = "tenant" if row.tenant_deleting else "project" if row.project_deleting else ""
    return CallTarget(row.tenant_id, project_id, disabled, deleting)


async def is_platform_project(connection: Connection, project_id: str) -> bool:
    """Tell whether this is the platform's own project. Its rows must be visible to the connection."""
    row = await queries.platform_project(connection)
    return row is not None and row.id == project_id


async def project_facts(connection: Connection, tenant_id: str, project_ids: Sequence[str]) -> dict[str, ProjectFacts]:
    """Return the tenant's projects of these ids. Another tenant's are left out, whatever the caller may see."""
    rows = await queries.project_facts(connection, tenant_id, sorted(set(project_ids)))
    return {row.id: row for row in rows}


async def tenant_target(connection: Connection, tenant_id: str) -> CallTarget | None:
    row = await queries.tenant_show(connection, tenant_id)
    if row is None:
        return None
    deleting = "tenant" if row.delete_after is not None else ""
    return CallTarget(tenant_id, None, "tenant" if row.disabled else "", deleting)


async def tenant_create(tx: Tx, settings: Settings, body: TenantCreate, caller: Caller) -> Tenant:
    row = await queries.tenant_insert(tx.connection, new_id("tnt"), body.slug, body.name, tx.now)
    if row is None:
        raise Problem("already_exists", f"There is a tenant {body.slug}.")
    await record(tx, AuditEntry("tenant_create", row.id, row.id, details={"slug": body.slug}))
    await emit(tx, NewEvent("tenant.created", row.id, row.id, data={"slug": body.slug}))
    if settings.platform_apps_for_tenants:
        await tenant_hooks().tenant_created(tx, row.id)
    return _tenant(row, caller)


async def tenant_list(connection: Connection, actor: Actor, page: PageRequest, caller: Caller) -> Page[Tenant]:
    """Return all tenants for the platform's roles, else the caller's own."""
    only = None if caller.roles & identity.PLATFORM_ROLES else [actor.tenant_id]
    rows = await queries.tenant_list(connection, only, page)
    return Page[Tenant].of([_tenant(row, caller) for row in rows], page)


async def tenant_show(connection: Connection, caller: Caller) -> Tenant:
    return _tenant(
        _present(await queries.tenant_show(connection, caller.tenant_id), "tenant", caller.tenant_id), caller
    )


async def tenant_update(tx: Tx, body: TenantUpdate, caller: Caller, require_match: RequireMatch) -> Tenant:
    before = _present(await queries.tenant_lock(tx.connection, caller.tenant_id), "tenant", caller.tenant_id)
    require_match(before.generation)
    name, disabled = _changed(before, body)
    grade = before.wipe_grade if body.wipe_grade is None else body.wipe_grade
    wipe_grades.require_possible_grade("baremetal", grade)
    row = await queries.tenant_update(tx.connection, caller.tenant_id, name, disabled, grade)
    await record(tx, AuditEntry("tenant_update", caller.tenant_id, caller.tenant_id, details=_difference(before, row)))
    await emit(tx, NewEvent("tenant.updated", caller.tenant_id, caller.tenant_id, data={"disabled": disabled}))
    tx.wakeups.add(identity.TOPIC)
    return _tenant(row, caller)


async def project_create(tx: Tx, body: ProjectCreate, caller: Caller) -> Project:
    """Create a project without members: the tenant's administrators act in all its projects and appoint the rest."""
    row = await queries.project_insert(tx.connection, new_id("prj"), caller.tenant_id, body.slug, body.name, tx.now)
    if row is None:
        raise Problem("already_exists", f"The tenant has a project {body.slug}.")
    entry = AuditEntry("project_create", row.id, caller.tenant_id, row.id, details={"slug": body.slug})
    await record(tx, entry)
    await emit(tx, NewEvent("project.created", row.id, caller.tenant_id, row.id, {"slug": body.slug}))
    return _project(row, caller)


async def tenant_project_list(connection: Connection, page: PageRequest, caller: Caller) -> Page[Project]:
    rows = await queries.project_list(connection, caller.tenant_id, None, page)
    return Page[Project].of([_project(row, caller) for row in rows], page)


async def project_list(connection: Connection, actor: Actor, page: PageRequest) -> Page[Project]:
    """Return the projects that the caller may see. What they may do in each is said by the project itself, not by the list."""
    only = await identity.visible_projects(connection, actor)
    rows = await queries.project_list(connection, actor.tenant_id or None, only, page)
    return Page[Project].of([_project(row, NOBODY) for row in rows], page)


async def project_show(connection: Connection, caller: Caller) -> Project:
    row = _present(await queries.project_show(connection, caller.project_id), "project", caller.project_id)
    return _project(row, caller)


async def project_update(tx: Tx, body: ProjectUpdate, caller: Caller, require_match: RequireMatch) -> Project:
    before = _present(await queries.project_lock(tx.connection, caller.project_id), "project", caller.project_id)
    require_match(before.generation)
    name, disabled = _changed(before, body)
    row = await queries.project_update(tx.connection, caller.project_id, name, disabled)
    tenant_id = row.tenant_id
    entry = AuditEntry(
        "project_update", caller.project_id, tenant_id, caller.project_id, details=_difference(before, row)
    )
    await record(tx, entry)
    await emit(tx, NewEvent("project.updated", caller.project_id, tenant_id, caller.project_id, {"disabled": disabled}))
    tx.wakeups.add(identity.TOPIC)
    return _project(row, caller)


@dataclass(frozen=True, slots=True)
class DeletionTarget:
    """Holds what a deletion must know of its tenant or project, whose row is locked."""

    tenant_id: str
    project_id: str | None
    delete_after: datetime | None
    generation: int

    @property
    def id(self) -> str:
        return self.project_id or self.tenant_id

    @property
    def noun(self) -> str:
        return "project" if self.project_id else "tenant"


async def lock_tenant(tx: Tx, tenant_id: str) -> DeletionTarget:
    row = _present(await queries.tenant_lock(tx.connection, tenant_id), "tenant", tenant_id)
    return DeletionTarget(tenant_id, None, row.delete_after, row.generation)


async def lock_project(tx: Tx, project_id: str) -> DeletionTarget:
    row = _present(await queries.project_lock(tx.connection, project_id), "project", project_id)
    return DeletionTarget(row.tenant_id, project_id, row.delete_after, row.generation)


async def set_delete_after(tx: Tx, target: DeletionTarget, moment: datetime | None) -> None:
    """Set or clear the date. The gates of all processes look again: what people may do in the place changes with it."""
    if target.project_id is None:
        await queries.tenant_delete_after(tx.connection, target.tenant_id, moment)
    else:
        await queries.project_delete_after(tx.connection, target.project_id, moment)
    tx.wakeups.add(identity.TOPIC)


def _changed(before: TenantRow | ProjectRow, body: TenantUpdate | ProjectUpdate) -> tuple[str, bool]:
    name = before.name if body.name is None else body.name
    return name, before.disabled if body.disabled is None else body.disabled


def _difference(before: TenantRow | ProjectRow, after: TenantRow | ProjectRow) -> dict[str, object]:
    was, now = fields_of(before), fields_of(after)
    changed = [name for name in was if name != "generation" and was[name] != now[name]]
    return {"before": {name: was[name] for name in changed}, "after": {name: now[name] for name in changed}}


def _present(row: Row | None, noun: str, identifier: str) -> Row:
    if row is None:
        raise not_found(noun, identifier)
    return row


def _tenant(row: TenantRow, caller: Caller) -> Tenant:
    verbs = _TENANT_VERBS if row.delete_after is None else _DELETING_TENANT_VERBS
    return Tenant(**fields_of(row), allowed_actions=identity.allowed_actions(caller, verbs))


def _project(row: ProjectRow, caller: Caller) -> Project:
    verbs = _PROJECT_VERBS if row.delete_after is None else _DELETING_PROJECT_VERBS
    return Project(**fields_of(row), allowed_actions=identity.allowed_actions(caller, verbs))
