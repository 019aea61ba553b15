"""The verbs of tenants and projects, and the place that a project is (for the gate)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from psycopg.rows import DictRow

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.context import Actor, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.projects import queries
from gpuaas_server.projects.schemas import (
    Project,
    ProjectCreate,
    ProjectUpdate,
    Tenant,
    TenantCreate,
    TenantUpdate,
)

Roles = frozenset[str]
RequireMatch = Callable[[int], None]
_TENANT_VERBS = (
    "tenant_update",
    "tenant_user_create",
    "tenant_member_set",
    "tenant_member_remove",
    "tenant_quota_set",
    "project_create",
    "entitlement_grant",
    "entitlement_revoke",
    "trust_policy_set",
    "trust_key_create",
    "trust_key_revoke",
)
_PROJECT_VERBS = (
    "project_update",
    "project_member_set",
    "project_member_remove",
    "project_quota_set",
    "service_account_create",
    "access_credential_create",
    "publish_intent_create",
    "allocation_create",
    "instance_create",
)


@dataclass(frozen=True, slots=True)
class ProjectPlace:
    """Where a call goes: a project of a tenant, or a tenant. `disabled` names which of the two is, if any."""

    tenant_id: str
    project_id: str | None = None
    disabled: str = ""


async def project_place(connection: Connection, project_id: str) -> ProjectPlace | None:
    row = await queries.project_place(connection, project_id)
    if row is None:
        return None
    disabled = "tenant" if row["tenant_disabled"] else "project" if row["project_disabled"] else ""
    return ProjectPlace(row["tenant_id"], project_id, disabled)


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """What other rooms may keep of a project: its slug never changes."""

    id: str
    slug: str
    disabled: bool


async def project_facts(connection: Connection, tenant_id: str, project_ids: Sequence[str]) -> dict[str, ProjectFacts]:
    """Those of the tenant; another tenant's are as if they did not exist, whatever the caller may see."""
    rows = await queries.project_facts(connection, tenant_id, sorted(set(project_ids)))
    return {row["id"]: ProjectFacts(**row) for row in rows}


async def tenant_place(connection: Connection, tenant_id: str) -> ProjectPlace | None:
    row = await queries.tenant_show(connection, tenant_id)
    return None if row is None else ProjectPlace(tenant_id, None, "tenant" if row["disabled"] else "")


async def tenant_create(tx: Tx, body: TenantCreate, roles: Roles) -> Tenant:
    row = await queries.tenant_insert(tx.connection, new_id("tnt"), body.slug, body.name, tx.now)
    if row is None:
        raise Problem("already_exists", f"There is a tenant {body.slug}.")
    await record(tx, AuditEntry("tenant_create", row["id"], row["id"], details={"slug": body.slug}))
    await emit(tx, NewEvent("tenant.created", row["id"], row["id"], data={"slug": body.slug}))
    return _tenant(row, roles)


async def tenant_list(
    connection: Connection, actor: Actor, after: str | None, limit: int, roles: Roles
) -> Page[Tenant]:
    """All tenants for the platform's roles, else the caller's own."""
    only = None if roles & identity.PLATFORM_ROLES else [actor.tenant_id]
    rows = await queries.tenant_list(connection, only, after, limit + 1)
    return Page[Tenant].of([_tenant(row, roles) for row in rows], limit)


async def tenant_show(connection: Connection, tenant_id: str, roles: Roles) -> Tenant:
    return _tenant(_present(await queries.tenant_show(connection, tenant_id), "tenant", tenant_id), roles)


async def tenant_update(
    tx: Tx, tenant_id: str, body: TenantUpdate, roles: Roles, require_match: RequireMatch
) -> Tenant:
    before = _present(await queries.tenant_hold(tx.connection, tenant_id), "tenant", tenant_id)
    require_match(before["generation"])
    name, disabled = _changed(before, body)
    row = await queries.tenant_update(tx.connection, tenant_id, name, disabled)
    await record(tx, AuditEntry("tenant_update", tenant_id, tenant_id, details=_difference(before, row)))
    await emit(tx, NewEvent("tenant.updated", tenant_id, tenant_id, data={"disabled": disabled}))
    tx.wakeups.add(identity.TOPIC)
    return _tenant(row, roles)


async def project_create(tx: Tx, tenant_id: str, body: ProjectCreate, roles: Roles) -> Project:
    """Nobody becomes a member: the tenant's administrators act in all its projects and appoint the rest."""
    row = await queries.project_insert(tx.connection, new_id("prj"), tenant_id, body.slug, body.name, tx.now)
    if row is None:
        raise Problem("already_exists", f"The tenant has a project {body.slug}.")
    entry = AuditEntry("project_create", row["id"], tenant_id, row["id"], details={"slug": body.slug})
    await record(tx, entry)
    await emit(tx, NewEvent("project.created", row["id"], tenant_id, row["id"], {"slug": body.slug}))
    return _project(row, roles)


async def tenant_project_list(
    connection: Connection, tenant_id: str, after: str | None, limit: int, roles: Roles
) -> Page[Project]:
    rows = await queries.project_list(connection, tenant_id, None, after, limit + 1)
    return Page[Project].of([_project(row, roles) for row in rows], limit)


async def project_list(connection: Connection, actor: Actor, after: str | None, limit: int) -> Page[Project]:
    """Those the caller may see. What they may do in each is said by the project itself, not by the list."""
    only = await identity.visible_projects(connection, actor)
    rows = await queries.project_list(connection, actor.tenant_id or None, only, after, limit + 1)
    return Page[Project].of([_project(row, frozenset()) for row in rows], limit)


async def project_show(connection: Connection, project_id: str, roles: Roles) -> Project:
    row = _present(await queries.project_show(connection, project_id), "project", project_id)
    return _project(row, roles)


async def project_update(
    tx: Tx, project_id: str, body: ProjectUpdate, roles: Roles, require_match: RequireMatch
) -> Project:
    before = _present(await queries.project_hold(tx.connection, project_id), "project", project_id)
    require_match(before["generation"])
    name, disabled = _changed(before, body)
    row = await queries.project_update(tx.connection, project_id, name, disabled)
    tenant_id = row["tenant_id"]
    entry = AuditEntry("project_update", project_id, tenant_id, project_id, details=_difference(before, row))
    await record(tx, entry)
    await emit(tx, NewEvent("project.updated", project_id, tenant_id, project_id, {"disabled": disabled}))
    tx.wakeups.add(identity.TOPIC)
    return _project(row, roles)


def _changed(before: DictRow, body: TenantUpdate | ProjectUpdate) -> tuple[str, bool]:
    name = before["name"] if body.name is None else body.name
    return name, before["disabled"] if body.disabled is None else body.disabled


def _difference(before: DictRow, after: DictRow) -> dict[str, object]:
    fields = [field for field in ("name", "disabled") if before[field] != after[field]]
    return {"before": {f: before[f] for f in fields}, "after": {f: after[f] for f in fields}}


def _present(row: DictRow | None, noun: str, identifier: str) -> DictRow:
    if row is None:
        raise not_found(noun, identifier)
    return row


def _tenant(row: DictRow, roles: Roles) -> Tenant:
    return Tenant(**row, allowed_actions=identity.allowed_actions(roles, _TENANT_VERBS))


def _project(row: DictRow, roles: Roles) -> Project:
    return Project(**row, allowed_actions=identity.allowed_actions(roles, _PROJECT_VERBS))
