"""The verbs of versions: register from a manifest, activate, deprecate, retire."""

from psycopg.rows import DictRow

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.catalog import artifact_facts, machine, queries
from gpuaas_server.catalog.manifest import Manifest, from_document, parse
from gpuaas_server.catalog.schemas import (
    AppVersion,
    AppVersionDeprecate,
    AppVersionDetail,
    AppVersionRegister,
    AppVersionRetire,
)
from gpuaas_server.catalog.semver import precedence
from gpuaas_server.catalog.service import RequireMatch, spelled
from gpuaas_server.catalog.users import version_users
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id

Place = tuple[str, str, str]  # project, app, version


async def app_version_register(
    tx: Tx, tenant_id: str, project_id: str, body: AppVersionRegister, caller: Caller
) -> AppVersion:
    """The version, as a draft; with it the app, when it is its first. The same content again is the same version."""
    manifest = parse(body.manifest)
    app = await _app_of(tx, tenant_id, project_id, manifest)
    values: dict[str, object] = {
        "id": new_id("apv"),
        "tenant_id": tenant_id,
        "project_id": project_id,
        "app_id": app["id"],
        "version": manifest.version,
        "precedence": precedence(manifest.version),
        "runtime_version": manifest.runtime_version,
        "artifact_kind": manifest.artifact.kind,
        "artifact_digest": manifest.artifact.digest,
        "manifest": manifest.document,
        "content_digest": manifest.content_digest,
        "created_by": tx.actor.id,
        "now": tx.now,
    }
    row = await queries.version_insert(tx.connection, values)
    repeated = row is None
    if row is None:
        row = await _same(tx.connection, app, manifest)
    details: dict[str, object] = {"slug": manifest.slug, "version": manifest.version, "repeated": repeated}
    await _record(tx, "app_version_register", row, details, news=None if repeated else "app.version_registered")
    return version_document(row, caller)


async def _app_of(tx: Tx, tenant_id: str, project_id: str, manifest: Manifest) -> DictRow:
    values: dict[str, object] = {
        "id": new_id("app"),
        "tenant_id": tenant_id,
        "project_id": project_id,
        "slug": manifest.slug,
        "created_by": tx.actor.id,
        "now": tx.now,
        **_description(manifest),
    }
    row = await queries.app_insert(tx.connection, values)
    row = row or await queries.app_hold_by_slug(tx.connection, project_id, manifest.slug)
    if row is None:
        raise Problem(
            "app_slug_taken", f"The slug {manifest.slug} belongs to an app that this project does not publish."
        )
    return row


async def _same(connection: Connection, app: DictRow, manifest: Manifest) -> DictRow:
    row = await queries.version_by_name(connection, app["id"], manifest.version)
    if row is None:
        raise not_found("version", manifest.version)
    if row["content_digest"] != manifest.content_digest:
        raise Problem(
            "version_exists",
            f"{manifest.slug} {manifest.version} is registered with other content.",
            {"version_id": row["id"], "content_digest": row["content_digest"]},
        )
    return row


def _description(manifest: Manifest) -> dict[str, object]:
    """How an app is shown and found."""
    category, keywords = manifest.ui.get("category"), manifest.ui.get("keywords", [])
    words = (manifest.slug, manifest.display_name, manifest.description, category or "", *keywords)
    return {
        "display_name": manifest.display_name,
        "description": manifest.description,
        "category": category,
        "keywords": keywords,
        "search": " ".join(words).casefold(),
    }


async def app_version_list(
    connection: Connection, project_id: str, app_id: str, page: tuple[str | None, int], caller: Caller
) -> Page[AppVersion]:
    """`page` is (after, limit)."""
    after, limit = page
    if await queries.app_show(connection, project_id, app_id) is None:
        raise not_found("app", app_id)
    rows = await queries.version_list(connection, project_id, app_id, after, limit + 1)
    return Page[AppVersion].of([version_document(row, caller) for row in rows], limit)


async def app_version_show(connection: Connection, place: Place, caller: Caller) -> AppVersionDetail:
    row = await queries.version_show(connection, *place)
    if row is None:
        raise not_found("version", place[-1])
    return AppVersionDetail(**version_document(row, caller).model_dump(), manifest=row["manifest"])


async def app_version_activate(tx: Tx, place: Place, caller: Caller, require_match: RequireMatch) -> AppVersion:
    """From here on it can be launched. From its artifact to here, nothing may speak against it."""
    before = await _hold(tx, place, "active", require_match)
    digest = before["artifact_digest"]
    artifact = await artifact_facts.artifact_of(tx.connection, before["project_id"], digest)
    reasons = list(machine.against_activation(digest, artifact))
    if reasons:
        raise Problem(
            "version_not_activatable", " ".join(one.message for one in reasons), {"reasons": spelled(reasons)}
        )
    row = await queries.version_move(tx.connection, before["id"], "active", {"activated_at": tx.now})
    if not await queries.newer_active_exists(tx.connection, row["app_id"], before["precedence"]):
        described = _description(from_document(before["manifest"]))
        await queries.app_describe(tx.connection, row["app_id"], described)
    await _record(tx, "app_version_activate", row, _moved(before, row), news="app.version_activated")
    return version_document(row, caller)


async def app_version_deprecate(
    tx: Tx, place: Place, body: AppVersionDeprecate, caller: Caller, require_match: RequireMatch
) -> AppVersion:
    """No new instance takes it; those that run show the notice."""
    before = await _hold(tx, place, "deprecated", require_match)
    changes = {"deprecated_at": tx.now, "notice": body.notice, "retire_at": body.retire_at}
    row = await queries.version_move(tx.connection, before["id"], "deprecated", changes)
    await _record(
        tx, "app_version_deprecate", row, _moved(before, row), news="app.version_deprecated", reason=body.notice
    )
    return version_document(row, caller)


async def app_version_retire(
    tx: Tx, place: Place, body: AppVersionRetire, caller: Caller, require_match: RequireMatch
) -> AppVersion:
    """The end: not before the announced day, and not while anybody runs it."""
    before = await _hold(tx, place, "retired", require_match)
    earliest = machine.retirable_at(before["deprecated_at"], before["retire_at"])
    if earliest is not None and tx.now < earliest:
        raise Problem("conflict", f"It can be retired from {earliest.isoformat(timespec='seconds')} on.")
    live = await version_users().live_instances(tx.connection, before["id"]) if earliest is not None else 0
    if live:
        raise Problem("version_in_use", f"{live} instances still run {before['version']}.", {"live": live})
    row = await queries.version_move(tx.connection, before["id"], "retired", {"retired_at": tx.now})
    await version_users().retired(tx, before["id"])
    await _record(tx, "app_version_retire", row, _moved(before, row), news="app.version_retired", reason=body.reason)
    return version_document(row, caller)


async def _hold(tx: Tx, place: Place, wanted: str, require_match: RequireMatch) -> DictRow:
    row = await queries.version_hold(tx.connection, *place)
    if row is None:
        raise not_found("version", place[-1])
    require_match(row["generation"])
    if wanted not in machine.TRANSITIONS[row["status"]]:
        raise Problem("conflict", f"Version {row['version']} is {row['status']}; it cannot become {wanted}.")
    return row


def _moved(before: DictRow, after: DictRow) -> dict[str, object]:
    return {"slug": after["slug"], "version": after["version"], "before": before["status"], "after": after["status"]}


async def _record(
    tx: Tx, action: str, row: DictRow, details: dict[str, object], *, news: str | None, reason: str | None = None
) -> None:
    place = (row["id"], row["tenant_id"], row["project_id"])
    await record(tx, AuditEntry(action, *place, reason=reason, details=details))
    if news is not None:
        data: dict[str, object] = {"slug": row["slug"], "version": row["version"], "status": row["status"]}
        await emit(tx, NewEvent(news, *place, data=data))


def version_document(row: DictRow, caller: Caller) -> AppVersion:
    shown = {name: row[name] for name in AppVersion.model_fields if name in row}
    return AppVersion(**shown, allowed_actions=identity.allowed_actions(caller, machine.possible(row["status"])))
