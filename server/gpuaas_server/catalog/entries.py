"""The entries of the catalogue as users see them: what their project may launch, and one app in full."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.catalog import channel_queries, queries
from gpuaas_server.catalog.channels import channel_of, chosen_version
from gpuaas_server.catalog.hooks import controller_hooks
from gpuaas_server.catalog.rows import AppRow, AppVersionRow, CatalogVersionRow
from gpuaas_server.catalog.schemas import CatalogApp, CatalogEntry, CatalogVersion, ControllerStatus
from gpuaas_server.catalog.service import is_on_trial
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.kernel.settings import Settings

_SHOWN = 20  # versions of an app, newest first
_MOST_WORDS = 8


async def catalog_list(
    connection: Connection,
    settings: Settings,
    now: datetime,
    caller: Caller,
    search: str,
    page: PageRequest,
) -> Page[CatalogApp]:
    words = search.casefold().split()[:_MOST_WORDS]
    apps = await queries.catalog_list(connection, caller.tenant_id, words, page)
    versions: dict[str, list[CatalogVersion]] = defaultdict(list)
    for row in await queries.catalog_versions(connection, [app.id for app in apps], _SHOWN):
        versions[row.app_id].append(_version(row))
    place = (caller.tenant_id, caller.project_id)
    serving = await controller_hooks().statuses(connection, settings, now, *place, [app.slug for app in apps])
    pinned = await channel_queries.channels_pinned(connection, caller.project_id, [app.id for app in apps])
    shown = [_app(app, caller, versions[app.id], serving[app.slug], pinned.get(app.id)) for app in apps]
    return Page[CatalogApp].of(shown, page)


async def catalog_show(
    connection: Connection, settings: Settings, now: datetime, caller: Caller, slug: str, version: str | None
) -> CatalogEntry:
    """Show the app with the manifest of the version that was asked for, else the newest active one, else the newest. A draft
    on trial is shown to the project that publishes it, whose instances may run it.
    """
    app = await queries.catalog_app(connection, caller.tenant_id, slug)
    if app is None:
        raise not_found("app", slug)
    versions = [_version(row) for row in await queries.catalog_versions(connection, [app.id], _SHOWN)]
    place = (caller.tenant_id, caller.project_id)
    serving = await controller_hooks().statuses(connection, settings, now, *place, [slug])
    pinned = await channel_queries.channels_pinned(connection, caller.project_id, [app.id])
    listed = _app(app, caller, versions, serving[slug], pinned.get(app.id))
    wanted = version or listed.latest or (versions[0].version if versions else None)
    if wanted is None:
        raise Problem("not_found", f"{slug} has no version that could be launched yet.", target=slug)
    row = await queries.version_to_launch(connection, app.id, wanted)
    if row is None or (row.status == "draft" and not is_on_trial(row, caller.project_id)):
        raise not_found(f"version of {slug}", wanted)
    return CatalogEntry(**listed.model_dump(), shown=_version(row), manifest=dict(row.manifest))


def _version(row: CatalogVersionRow | AppVersionRow) -> CatalogVersion:
    return CatalogVersion(**fields_of(row))


def _app(
    row: AppRow,
    caller: Caller,
    versions: Sequence[CatalogVersion],
    controller: ControllerStatus,
    pinned: str | None,
) -> CatalogApp:
    percent = next((one.canary_percent for one in versions if one.status == "canary"), None)
    channel = channel_of(row.id, caller.project_id, percent, pinned)
    chosen = chosen_version(versions, row.stable_version_id, channel)
    latest = None if chosen is None else chosen.version
    launchable = latest is not None and controller.state == "live"
    offered = controller.state != "no_controller" and not controller.own
    possible = ["catalog_channel_set", *(["instance_create"] if launchable else [])]
    possible += ["controller_consent_give"] if offered else []
    return CatalogApp(
        **fields_of(row),
        own=row.tenant_id == caller.tenant_id,
        latest=latest,
        channel=channel,
        channel_pinned=pinned is not None,
        versions=list(versions),
        controller=controller,
        allowed_actions=identity.allowed_actions(caller, possible),
    )
