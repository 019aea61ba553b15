"""Tells who serves apps: what the catalogue shows of it, what a launch needs, and what waits for a controller."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.catalog.schemas import ControllerStatus
from gpuaas_server.controllers import queries
from gpuaas_server.controllers.consents import (
    consent_of,
    consent_with_entitlement,
    consented_apps,
    leased_without_right,
    note_claim,
    projects_covered,
)
from gpuaas_server.controllers.machine import ControllerFacts, derive_status
from gpuaas_server.controllers.queries import slugs_bound
from gpuaas_server.controllers.replicas import FORGOTTEN_AFTER, silence
from gpuaas_server.controllers.schemas import ControllerOffer, PermissionOffered
from gpuaas_server.controllers.served_apps import app_changed, tenant_created
from gpuaas_server.controllers.work import cross_tenant_scope
from gpuaas_server.identity import service as identity
from gpuaas_server.identity.service import DESCRIPTIONS, PERMISSIONS
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.settings import Settings

__all__ = [
    "app_changed",
    "consent_with_entitlement",
    "consented_apps",
    "controller_offer_list",
    "cross_tenant_scope",
    "leased_without_right",
    "note_claim",
    "projects_covered",
    "require_controller",
    "slugs_bound",
    "statuses",
    "tenant_created",
]


async def statuses(
    connection: Connection, settings: Settings, now: datetime, tenant_id: str, project_id: str, slugs: Sequence[str]
) -> dict[str, ControllerStatus]:
    """Say of each app who would do its work in the project."""
    if not slugs:
        return {}
    bindings = await queries.bindings_of_apps(connection, slugs)
    consents = {row.app_slug: row for row in await queries.consents_of(connection, tenant_id, slugs)}
    replicas = await queries.replicas_of_apps(connection, project_id, slugs, now - FORGOTTEN_AFTER)
    return {
        slug: derive_status(
            ControllerFacts(
                slug,
                project_id,
                [one for one in bindings if one.app_slug == slug],
                consents.get(slug),
                [one for one in replicas if one.app_slug == slug],
            ),
            now,
            silence(settings),
        )
        for slug in slugs
    }


async def require_controller(
    connection: Connection, settings: Settings, now: datetime, tenant_id: str, project_id: str, slug: str
) -> None:
    """Refuse a launch that nobody would carry out."""
    found = (await statuses(connection, settings, now, tenant_id, project_id, [slug]))[slug]
    if found.state != "live":
        details: dict[str, object] = {"app": slug, "state": found.state, "next_step": found.next_step}
        raise Problem("no_controller", found.message, details)


async def controller_offer_list(
    connection: Connection,
    settings: Settings,
    now: datetime,
    caller: Caller,
    slug: str | None,
    page: PageRequest,
) -> Page[ControllerOffer]:
    """List what the tenant could consent to, or does: the apps that it may launch and whose publisher runs a controller."""
    rows = await queries.offer_list(connection, caller.tenant_id, slug, page)
    slugs = [row.slug for row in rows]
    bindings = await queries.bindings_of_apps(connection, slugs)
    consents = {row.app_slug: row for row in await queries.consents_of(connection, caller.tenant_id, slugs)}
    replicas = await queries.replicas_of_apps(connection, "", slugs, now - silence(settings))
    offered = [PermissionOffered(name=name, description=DESCRIPTIONS[name]) for name in PERMISSIONS]
    items = []
    for row in rows:
        mine = [one for one in replicas if one.app_slug == row.slug]
        bound = [one for one in bindings if one.app_slug == row.slug]
        given = consents.get(row.slug)
        if given is not None and not any(given.reaches(one) for one in bound):
            given = None  # it was given to the platform's controller, and the publisher's took its place
        items.append(
            ControllerOffer(
                id=row.id,
                slug=row.slug,
                display_name=row.display_name,
                publisher_tenant_id=row.publisher_tenant_id,
                publisher_project_id=row.publisher_project_id,
                service_accounts=[one.service_account_name for one in bound],
                live=bool(mine),
                since=min((one.since for one in mine), default=None),
                permissions=offered,
                consent=None if given is None else consent_of(given, caller),
                allowed_actions=identity.allowed_actions(caller, ("controller_consent_give",)),
            )
        )
    return Page[ControllerOffer].of(items, page)
