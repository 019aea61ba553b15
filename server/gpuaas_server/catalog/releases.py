"""The verbs of channels: give a version to a part of the projects, go back, and choose for a project.

To promote a canary is to activate it (versions.py).
"""

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.catalog import artifact_facts, channel_queries, queries
from gpuaas_server.catalog.channels import channel_of
from gpuaas_server.catalog.hooks import controller_hooks
from gpuaas_server.catalog.rows import AppRow, ChannelRow
from gpuaas_server.catalog.schemas import AppRollback, AppVersion, AppVersionCanary, CatalogChannel, CatalogChannelSet
from gpuaas_server.catalog.versions import (
    lock_version,
    record_version,
    refuse,
    status_change,
    version_document,
)
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import RequireMatch, Tx
from gpuaas_server.kernel.errors import Problem, not_found


async def app_version_canary(
    tx: Tx, caller: Caller, app_id: str, version_id: str, body: AppVersionCanary, require_match: RequireMatch
) -> AppVersion:
    """Give the version to a part of the projects, or change how large that is. Its artifacts are a canary or active."""
    before = await lock_version(tx, caller, app_id, version_id, "canary", require_match)
    other = await channel_queries.canary_version(tx.connection, before.app_id)
    if other not in (None, before.id):
        details: dict[str, object] = {"version_id": other}
        raise Problem("conflict", "The app has a canary already: promote it, or roll it back.", details)
    refuse(await artifact_facts.activation_refusals(tx.connection, before, "canary"))
    row = await queries.version_move(tx.connection, before.id, "canary", {"canary_percent": body.percent})
    await controller_hooks().app_changed(tx, row.app_id)
    facts = {**status_change(before, row), "percent": body.percent, "percent_before": before.canary_percent}
    await record_version(tx, "app_version_canary", row, facts, news="app.version_canary")
    return version_document(row, caller)


async def app_rollback(
    tx: Tx, app_id: str, body: AppRollback, caller: Caller, require_match: RequireMatch
) -> AppVersion:
    """Take back the canary; without one, have launches take the version from before the last promotion. What runs goes on."""
    app = await queries.app_lock(tx.connection, app_id)
    if app is None or app.project_id != caller.project_id:
        raise not_found("app", app_id)
    require_match(app.generation)
    canary = await channel_queries.canary_version(tx.connection, app_id)
    version_id = await _take_back(tx, app, canary, body.reason) if canary else await _point_back(tx, app)
    row = await queries.version_show(tx.connection, caller.project_id, app_id, version_id)
    if row is None:
        raise not_found("version", version_id)
    place = (app_id, app.tenant_id, caller.project_id)
    facts: dict[str, object] = {"slug": app.slug, "version": row.version, "canary": canary is not None}
    await record(tx, AuditEntry("app_rollback", *place, reason=body.reason, details=facts))
    await emit(tx, NewEvent("app.rolled_back", *place, data=facts))
    return version_document(row, caller)


async def _take_back(tx: Tx, app: AppRow, version_id: str, reason: str) -> str:
    """Deprecate the canary: no new instance takes it, and those that run it say so."""
    notice = f"This version was rolled back: {reason}"[:500]
    changes = {"deprecated_at": tx.now, "notice": notice, "retire_at": None, "canary_percent": None}
    return (await queries.version_move(tx.connection, version_id, "deprecated", changes)).id


async def _point_back(tx: Tx, app: AppRow) -> str:
    previous, stable = app.previous_version_id, await channel_queries.stable_version(tx.connection, app.id)
    facts = None if previous is None else await queries.version_facts(tx.connection, previous)
    if previous is None or previous == stable or facts is None or facts.status != "active":
        raise Problem("conflict", "The app has no canary, and no active version before the present one to go back to.")
    await channel_queries.point_to(tx.connection, app.id, previous, None)
    return previous


async def catalog_channel_set(tx: Tx, caller: Caller, slug: str, body: CatalogChannelSet) -> CatalogChannel:
    """Choose which versions of the app the project gets, or leave it to the hash again."""
    tenant_id, project_id, connection = caller.tenant_id, caller.project_id, tx.connection
    app = await queries.catalog_app(connection, tenant_id, slug)
    if app is None:
        raise not_found("app", slug)
    pinned = None if body.channel == "automatic" else body.channel
    if pinned is None:
        await channel_queries.channel_delete(connection, app.id, project_id)
    else:
        row = ChannelRow(app.id, project_id, tenant_id, pinned, tx.actor.id, tx.now)
        await channel_queries.channel_put(connection, row)
    facts: dict[str, object] = {"app": slug, "channel": body.channel}
    await record(tx, AuditEntry("catalog_channel_set", app.id, tenant_id, project_id, details=facts))
    await emit(tx, NewEvent("catalog.channel_set", app.id, tenant_id, project_id, data=facts))
    percent = await channel_queries.canary_percent(connection, app.id)
    version = await queries.version_to_launch(
        connection, app.id, None, channel := channel_of(app.id, project_id, percent, pinned)
    )
    return CatalogChannel(
        slug=slug,
        channel=channel,
        pinned=pinned is not None,
        latest=None if version is None else version.version,
        allowed_actions=identity.allowed_actions(caller, ("catalog_channel_set",)),
    )
