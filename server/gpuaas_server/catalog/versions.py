"""The verbs of versions: register from a manifest, activate, deprecate, retire."""

from collections.abc import Iterable
from typing import TypedDict

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.catalog import artifact_facts, channel_queries, machine, queries
from gpuaas_server.catalog.hooks import controller_hooks, version_hooks
from gpuaas_server.catalog.manifest import Manifest, from_document, parse
from gpuaas_server.catalog.rows import AppRow, AppVersionRow, RegisteredVersion
from gpuaas_server.catalog.schemas import (
    AppVersion,
    AppVersionDeprecate,
    AppVersionDetail,
    AppVersionRegister,
    AppVersionRetire,
)
from gpuaas_server.catalog.semver import precedence
from gpuaas_server.catalog.service import reason_documents
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import RequireMatch, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.projects import service as projects


async def app_version_register(tx: Tx, body: AppVersionRegister, caller: Caller) -> AppVersion:
    """Register a draft, and the app with its first version. The same content again is the same version."""
    manifest = parse(body.manifest)
    app = await _app_of(tx, caller.tenant_id, caller.project_id, manifest)
    new = _new_version(tx, app, manifest)
    repeated = not await queries.version_insert(tx.connection, new)
    row = await _registered_version(tx.connection, app, manifest) if repeated else new
    details: dict[str, object] = {"slug": manifest.slug, "version": manifest.version, "repeated": repeated}
    await record_version(tx, "app_version_register", row, details, news=None if repeated else "app.version_registered")
    return version_document(row, caller)


def _new_version(tx: Tx, app: AppRow, manifest: Manifest) -> RegisteredVersion:
    return RegisteredVersion(
        id=new_id("apv"),
        tenant_id=app.tenant_id,
        project_id=app.project_id,
        app_id=app.id,
        slug=app.slug,
        version=manifest.version,
        precedence=precedence(manifest.version),
        runtime_version=manifest.runtime_version,
        artifact_kind=manifest.artifact.kind,
        artifact_digest=manifest.artifact.digest,
        manifest=manifest.document,
        content_digest=manifest.content_digest,
        status="draft",
        created_by=tx.actor.id,
        created_at=tx.now,
        canary_percent=None,
        notice=None,
        retire_at=None,
        activated_at=None,
        deprecated_at=None,
        retired_at=None,
        generation=1,
        trial_since=None,
    )


async def _app_of(tx: Tx, tenant_id: str, project_id: str, manifest: Manifest) -> AppRow:
    # The platform's own apps are for tenants: each gets them by an entitlement.
    platform = await projects.is_platform_project(tx.connection, project_id)
    row = AppRow(
        id=new_id("app"),
        tenant_id=tenant_id,
        project_id=project_id,
        slug=manifest.slug,
        visibility="entitled" if platform else "private",
        created_by=tx.actor.id,
        created_at=tx.now,
        **_description(manifest),
    )
    if await queries.app_insert(tx.connection, row):
        return row
    known = await queries.app_lock_by_slug(tx.connection, project_id, manifest.slug)
    if known is None:
        raise Problem(
            "app_slug_taken", f"The slug {manifest.slug} belongs to an app that this project does not publish."
        )
    return known


async def _registered_version(connection: Connection, app: AppRow, manifest: Manifest) -> AppVersionRow:
    """Return the version as it was registered before; refuse a manifest with other content."""
    row = await queries.version_by_name(connection, app.id, manifest.version)
    if row is None:
        raise not_found("version", manifest.version)
    if row.content_digest != manifest.content_digest:
        raise Problem(
            "version_exists",
            f"{manifest.slug} {manifest.version} is registered with other content.",
            {"version_id": row.id, "content_digest": row.content_digest},
        )
    return row


class Description(TypedDict):
    """The columns of an app by which it is shown and found."""

    display_name: str
    description: str
    category: str | None
    keywords: list[str]
    search: str


def _description(manifest: Manifest) -> Description:
    category, keywords = manifest.ui.get("category"), manifest.ui.get("keywords", [])
    words = (manifest.slug, manifest.display_name, manifest.description, category or "", *keywords)
    return {
        "display_name": manifest.display_name,
        "description": manifest.description,
        "category": category,
        "keywords": keywords,
        "search": " ".join(words).casefold(),
    }


async def app_version_list(connection: Connection, caller: Caller, app_id: str, page: PageRequest) -> Page[AppVersion]:
    """List the versions of an app."""
    project_id = caller.project_id
    if await queries.app_show(connection, project_id, app_id) is None:
        raise not_found("app", app_id)
    rows = await queries.version_list(connection, project_id, app_id, page)
    return Page[AppVersion].of([version_document(row, caller) for row in rows], page)


async def app_version_show(connection: Connection, caller: Caller, app_id: str, version_id: str) -> AppVersionDetail:
    row = await queries.version_show(connection, caller.project_id, app_id, version_id)
    if row is None:
        raise not_found("version", version_id)
    return AppVersionDetail(**version_document(row, caller).model_dump(), manifest=dict(row.manifest))


async def app_version_trial(
    tx: Tx, caller: Caller, app_id: str, version_id: str, require_match: RequireMatch
) -> AppVersion:
    """Let the publishing project, and nobody else, launch its draft. Asking again changes nothing."""
    before = await queries.version_lock(tx.connection, caller.project_id, app_id, version_id)
    if before is None:
        raise not_found("version", version_id)
    require_match(before.generation)
    if before.status != "draft":
        raise Problem("conflict", f"Version {before.version} is {before.status}; only a draft needs a trial.")
    since = before.trial_since or tx.now
    row = await queries.version_move(tx.connection, before.id, "draft", {"trial_since": since})
    await controller_hooks().app_changed(tx, row.app_id)
    details: dict[str, object] = {"slug": row.slug, "version": row.version, "since": since.isoformat()}
    await record_version(tx, "app_version_trial", row, details, news="app.version_on_trial")
    return version_document(row, caller)


async def app_version_activate(
    tx: Tx, caller: Caller, app_id: str, version_id: str, require_match: RequireMatch
) -> AppVersion:
    """Activate the version, or promote the canary: from here on launches take it. Its artifacts must be active too."""
    before = await lock_version(tx, caller, app_id, version_id, "active", require_match)
    refuse(await artifact_facts.activation_refusals(tx.connection, before))
    stable = await channel_queries.stable_version(tx.connection, before.app_id)
    changes: dict[str, object] = {"activated_at": tx.now, "canary_percent": None}
    row = await queries.version_move(tx.connection, before.id, "active", changes)
    await controller_hooks().app_changed(tx, row.app_id)
    newest = not await queries.newer_active_exists(tx.connection, row.app_id, before.precedence)
    if newest or before.status == "canary":  # a promotion; a later patch of an older version is no reason to go back
        await channel_queries.point_to(tx.connection, row.app_id, row.id, stable)
        description = _description(from_document(before.manifest))
        await queries.app_describe(tx.connection, row.app_id, {**description})
    await record_version(tx, "app_version_activate", row, status_change(before, row), news="app.version_activated")
    return version_document(row, caller)


async def app_version_deprecate(
    tx: Tx, caller: Caller, app_id: str, version_id: str, body: AppVersionDeprecate, require_match: RequireMatch
) -> AppVersion:
    """Deprecate the version: no new instance takes it, and those that run show the notice."""
    before = await lock_version(tx, caller, app_id, version_id, "deprecated", require_match)
    changes = {"deprecated_at": tx.now, "notice": body.notice, "retire_at": body.retire_at, "canary_percent": None}
    row = await queries.version_move(tx.connection, before.id, "deprecated", changes)
    await record_version(
        tx, "app_version_deprecate", row, status_change(before, row), news="app.version_deprecated", reason=body.notice
    )
    return version_document(row, caller)


async def app_version_retire(
    tx: Tx, caller: Caller, app_id: str, version_id: str, body: AppVersionRetire, require_match: RequireMatch
) -> AppVersion:
    """Retire the version, not before the announced day, and not while anybody runs it."""
    before = await lock_version(tx, caller, app_id, version_id, "retired", require_match)
    earliest = machine.retirable_at(before.deprecated_at, before.retire_at)
    if earliest is not None and tx.now < earliest:
        raise Problem("conflict", f"The version can be retired from {earliest.isoformat(timespec='seconds')} on.")
    may_run = earliest is not None or before.trial_since is not None
    live = await version_hooks().live_instances(tx.connection, before.id) if may_run else 0
    if live:
        raise Problem("version_in_use", f"{live} instances still run {before.version}.", {"live": live})
    row = await queries.version_move(tx.connection, before.id, "retired", {"retired_at": tx.now})
    await version_hooks().retired(tx, before.id)
    await controller_hooks().app_changed(tx, before.app_id)
    await record_version(
        tx, "app_version_retire", row, status_change(before, row), news="app.version_retired", reason=body.reason
    )
    return version_document(row, caller)


def refuse(reasons: Iterable[machine.Reason]) -> None:
    """Raise the problem with every reason against a move."""
    found = list(reasons)
    if found:
        details: dict[str, object] = {"reasons": reason_documents(found)}
        raise Problem("version_not_activatable", " ".join(one.message for one in found), details)


async def lock_version(
    tx: Tx, caller: Caller, app_id: str, version_id: str, wanted: str, require_match: RequireMatch
) -> RegisteredVersion:
    """Lock a version whose status may become `wanted`."""
    row = await queries.version_lock(tx.connection, caller.project_id, app_id, version_id)
    if row is None:
        raise not_found("version", version_id)
    require_match(row.generation)
    if wanted not in machine.TRANSITIONS[row.status]:
        raise Problem("conflict", f"Version {row.version} is {row.status}; it cannot become {wanted}.")
    return row


def status_change(before: AppVersionRow, after: AppVersionRow) -> dict[str, object]:
    return {"slug": after.slug, "version": after.version, "before": before.status, "after": after.status}


async def record_version(
    tx: Tx, action: str, row: AppVersionRow, details: dict[str, object], *, news: str | None, reason: str | None = None
) -> None:
    resource = (row.id, row.tenant_id, row.project_id)
    await record(tx, AuditEntry(action, *resource, reason=reason, details=details))
    if news is not None:
        data: dict[str, object] = {"slug": row.slug, "version": row.version, "status": row.status}
        await emit(tx, NewEvent(news, *resource, data=data))


def version_document(row: AppVersionRow, caller: Caller) -> AppVersion:
    possible = [*machine.possible(row.status), *(["app_rollback"] if row.status == "canary" else [])]
    return AppVersion(**fields_of(row), allowed_actions=identity.allowed_actions(caller, possible))
