"""The verbs of consents: a tenant lets the controller of an app work in its projects, and ends that at any time."""

from collections.abc import Mapping, Sequence

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.catalog import service as catalog
from gpuaas_server.controllers import kind_queries, queries
from gpuaas_server.controllers.machine import ServedAppFacts
from gpuaas_server.controllers.rows import ConsentRow
from gpuaas_server.controllers.schemas import ControllerConsent, ControllerConsentGive
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.identity import service as identity
from gpuaas_server.identity.service import PERMISSIONS
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.operations import service as operations
from gpuaas_server.projects import service as projects
from gpuaas_server.work import leases


async def controller_consent_give(tx: Tx, caller: Caller, body: ControllerConsentGive) -> ControllerConsent:
    """Consent to the app's controller. Given again, it says the same of what it names now: more, or less."""
    app = await catalog.app_for_tenant(tx.connection, caller.tenant_id, body.app)
    permissions = [name for name in PERMISSIONS if body.permissions is None or name in body.permissions]
    project_ids = None if body.project_ids is None else sorted(set(body.project_ids))
    await _require_projects(tx, caller.tenant_id, project_ids or ())
    before = await queries.consent_of(tx.connection, caller.tenant_id, app.slug, lock=True)
    # If the publisher has no controller of its own, the tenant consents to the platform's.
    to_platform = not await queries.bound_by_own_project(tx.connection, app.id, app.project_id)
    if before is None:
        row = ConsentRow(
            new_id("ccs"),
            caller.tenant_id,
            app.id,
            app.slug,
            [*permissions],
            project_ids,
            tx.actor.id,
            tx.now,
            None,
            None,
            None,
            to_platform=to_platform,
        )
        await queries.consent_insert(tx.connection, row)
    else:
        row = await queries.consent_change(tx.connection, before.id, permissions, project_ids, to_platform)
        await _end_leases(tx, row)  # leases that the changed consent no longer covers
    await _record(tx, "give", "given", row, None)
    return consent_of(row, caller)


async def give_with_entitlement(tx: Tx, app: ServedAppFacts, tenant_ids: Sequence[str]) -> None:
    """Entitle tenants to an app that the platform's own controllers serve, and consent for each to all that exists now.

    A tenant that has consented or withdrawn before keeps its own decision. It can withdraw this consent like any other.
    """
    for tenant_id in tenant_ids:
        if app.tenant_id != tenant_id:
            await catalog.entitlement_grant(tx, tenant_id, app.slug)
        if await queries.consent_known(tx.connection, tenant_id, app.slug):
            continue
        row = ConsentRow(
            id=new_id("ccs"),
            tenant_id=tenant_id,
            app_id=app.id,
            app_slug=app.slug,
            permissions=[*PERMISSIONS],
            project_ids=None,
            given_by=tx.actor.id,
            given_at=tx.now,
            withdrawn_by=None,
            withdrawn_at=None,
            withdrawn_reason=None,
            given_with="entitlement",
            to_platform=not app.of_platform,
        )
        await queries.consent_insert(tx.connection, row)
        await _record(tx, "give", "given", row, None)


async def consent_with_entitlement(tx: Tx, tenant_id: str, app_id: str) -> None:
    """Consent for the tenant, with the entitlement that an operator grants. Only to apps of the platform itself."""
    app = await kind_queries.served_app(tx.connection, app_id)
    if app is None or not app.of_platform:
        raise Problem("consent_not_permitted")
    await give_with_entitlement(tx, app, [tenant_id])


async def _require_projects(tx: Tx, tenant_id: str, project_ids: Sequence[str]) -> None:
    """Refuse a project that is not the tenant's: it would be the consent of somebody else."""
    for project_id in project_ids:
        target = await projects.project_target(tx.connection, project_id)
        if target is None or target.tenant_id != tenant_id:
            raise not_found("project", project_id)


async def controller_consent_list(connection: Connection, caller: Caller, page: PageRequest) -> Page[ControllerConsent]:
    rows = await queries.consent_list(connection, caller.tenant_id, page)
    return Page[ControllerConsent].of([consent_of(row, caller) for row in rows], page)


async def controller_consent_withdraw(tx: Tx, caller: Caller, consent_id: str, reason: str | None) -> ControllerConsent:
    """End the consent. With the commit the database shows the controller nothing of the tenant any more.

    Its leases end, and with them certificates and secrets, by a work row: the hosts have to be told.
    """
    row = await queries.consent_withdraw(tx.connection, caller.tenant_id, consent_id, tx.actor.id, tx.now, reason)
    if row is None:
        raise not_found("controller consent", consent_id)
    await _end_leases(tx, row)
    await _record(tx, "withdraw", "withdrawn", row, reason)
    return consent_of(row, caller)


async def _end_leases(tx: Tx, row: ConsentRow) -> None:
    accounts = await queries.accounts_leasing(tx.connection, row.tenant_id, row.app_slug)
    if accounts:
        await leases.enqueue(tx, identity.CONTROLLER_LEASES_END, accounts)


async def _record(tx: Tx, verb: str, event: str, row: ConsentRow, reason: str | None) -> None:
    data: dict[str, object] = {"app": row.app_slug, "permissions": row.permissions, "project_ids": row.project_ids}
    data |= {"given_with": row.given_with, "to_platform": row.to_platform}
    entry = AuditEntry(f"controller_consent_{verb}", row.id, row.tenant_id, reason=reason, details=data)
    await record(tx, entry)
    await emit(tx, NewEvent(f"controller_consent.{event}", row.id, row.tenant_id, data=data))
    tx.wakeups |= {identity.TOPIC, operations.app_topic(row.app_slug)}


def consent_of(row: ConsentRow, caller: Caller) -> ControllerConsent:
    shown = {name: getattr(row, name) for name in ControllerConsent.model_fields if name != "allowed_actions"}
    verbs = ("controller_consent_give", "controller_consent_withdraw") if row.withdrawn_at is None else ()
    return ControllerConsent(**shown, allowed_actions=identity.allowed_actions(caller, verbs))


# Connected to the hook of admission, in wiring.py


async def consented_apps(
    connection: Connection, account_id: str, tenant_id: str, project_id: str
) -> Mapping[str, Sequence[str]]:
    """Return the apps that the account may control in the project by the tenant's consent, with what it may do."""
    rows = await queries.consented_apps(connection, account_id, tenant_id, project_id)
    return {row.app_slug: row.permissions for row in rows}


# What `instances` asks before a controller that comes by consent begins


async def note_claim(tx: Tx, tenant_id: str, slug: str) -> None:
    """Note that the tenant is served now, and refuse if its consent was withdrawn at this moment."""
    if not await queries.consent_claim(tx.connection, tenant_id, slug, tx.actor.id, tx.now):
        raise Problem("not_found", "The tenant does not consent to this controller any more.")


async def projects_covered(connection: Connection, tenant_id: str, slug: str, account_id: str) -> frozenset[str] | None:
    """Return the projects that the tenant's consent to this controller names; None for all."""
    row = await queries.consent_to(connection, tenant_id, slug, account_id)
    if row is None:
        return frozenset()
    return None if row.project_ids is None else frozenset(row.project_ids)


async def leased_without_right(connection: Connection, account_id: str) -> Sequence[str]:
    """Return the operations that a service account holds the lease of and may not work on any more."""
    apps = await identity.apps_controlled(connection, account_id)
    return await queries.leased_without_right(connection, account_id, apps)
