"""The verbs of apps, and what other nouns ask of the catalogue: what may be launched, and what its users should know."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.catalog import artifact_facts, channel_queries, machine, queries
from gpuaas_server.catalog.channels import Channel, channel_of
from gpuaas_server.catalog.compatibility_check import (
    MemberFacts,
    PlacementFacts,
    Refusal,
    placement_refusals,
    refuse_placement,
)
from gpuaas_server.catalog.entitlements import entitlement_grant
from gpuaas_server.catalog.footprints import check_footprints, footprint_of, usage_folder
from gpuaas_server.catalog.hooks import controller_hooks
from gpuaas_server.catalog.machine import Reason
from gpuaas_server.catalog.manifest import (
    Component,
    DeclaredSecret,
    Manifest,
    Probe,
    declared_secrets,
    digests_of,
    from_document,
    host_probes,
    unobserved_images,
)
from gpuaas_server.catalog.manifest_document import ComponentDocument, ManifestDocument
from gpuaas_server.catalog.manifest_schema import check_inputs
from gpuaas_server.catalog.profile_inputs import check_profile_inputs, chosen_image, completed
from gpuaas_server.catalog.rows import AppRow, NamingVersion, RegisteredVersion, VersionFacts, VersionNotice
from gpuaas_server.catalog.schemas import App, AppVisibilitySet
from gpuaas_server.catalog.usage_rules import metered_units
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import RequireMatch, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of

__all__ = [
    "Component",
    "ComponentDocument",
    "DeclaredSecret",
    "LaunchableVersion",
    "Manifest",
    "ManifestDocument",
    "MemberFacts",
    "PlacementFacts",
    "Probe",
    "Reason",
    "Refusal",
    "RegisteredVersion",
    "VersionNotice",
    "active_versions_on_digest",
    "app_document",
    "app_for_tenant",
    "app_list",
    "app_of_project",
    "app_show",
    "app_visibility_set",
    "check_footprints",
    "check_inputs",
    "check_profile_inputs",
    "chosen_image",
    "completed",
    "declared_secrets",
    "digests_of",
    "digests_referred",
    "entitlement_grant",
    "footprint_of",
    "from_document",
    "host_probes",
    "image_refusals",
    "last_retirements",
    "launchable",
    "metered_units",
    "not_launchable",
    "placement_refusals",
    "reason_documents",
    "refuse_placement",
    "unobserved_images",
    "usage_folder",
    "version_for_smoke",
    "version_notices",
    "version_refusals",
    "versions_naming",
    "versions_on_digest",
]


_APP_VERBS = ("app_version_register", "app_visibility_set")


@dataclass(frozen=True, slots=True)
class LaunchableVersion:
    app_id: str
    version_id: str
    slug: str
    version: str
    status: str
    manifest: Manifest
    digest: str
    publisher_project_id: str


async def launchable(
    connection: Connection,
    tenant_id: str,
    slug: str,
    version: str | None = None,
    project_id: str | None = None,
    *,
    own_draft: bool = False,
) -> LaunchableVersion:
    """Return the version that a project of this tenant may launch now, or raise the problem with all reasons why not.

    With `project_id` the artifact is asked as well, so that its reasons come in the same answer. `own_draft`: a draft of the
    project counts as on trial, for callers that ask before a smoke launch puts it on trial.
    """
    app = await queries.catalog_app(connection, tenant_id, slug)
    if app is None:
        raise not_found("app", slug)
    channel = "stable" if project_id is None else await project_channel(connection, app.id, project_id)
    row = await queries.version_to_launch(connection, app.id, version, channel)
    if row is None:
        if version is not None:
            raise not_found(f"version of {slug}", version)
        raise not_launchable(slug, [Reason("no_active_version", f"{slug} has no active version.")])
    reasons = await _refusals(connection, row, tenant_id, project_id, own_draft=own_draft)
    if reasons:
        raise not_launchable(slug, reasons)
    return LaunchableVersion(
        app.id,
        row.id,
        slug,
        row.version,
        row.status,
        from_document(row.manifest),
        row.artifact_digest,
        row.project_id,
    )


async def version_refusals(
    connection: Connection,
    tenant_id: str,
    project_id: str,
    version_id: str,
    digest: str,
    publisher_project_id: str,
    *,
    returning: bool,
) -> list[Reason]:
    """List every reason why an instance of the project may not take this version, or, `returning`, keep or return to it.

    The version's row and its artifact are read again: what an instance stored of them says nothing about today.
    """
    row = await queries.version_facts(connection, version_id)
    if row is None:
        unknown = Reason("version_unknown", "The version is not registered any more.")
        refusals = await artifact_facts.digest_refusals(
            connection, tenant_id, project_id, digest, publisher_project_id, returning
        )
        return [unknown, *refusals]
    reasons = await _refusals(connection, row, tenant_id, project_id, returning)
    if digest and (publisher_project_id != row.project_id or digest not in digests_of(row.manifest)):
        # An image that a person chose at launch: it is of their own project, and not of the version's publisher.
        reasons += await image_refusals(connection, tenant_id, publisher_project_id, digest, project_id, returning)
    return list(dict.fromkeys(reasons))


async def image_refusals(
    connection: Connection,
    tenant_id: str,
    publisher_project_id: str,
    digest: str,
    project_id: str,
    returning: bool = False,
) -> list[Reason]:
    """List every reason why a project may not run an image that a person chose at launch."""
    artifact = (await artifact_facts.artifacts_of(connection, publisher_project_id, [digest])).get(digest)
    if artifact is None:
        return [Reason("artifact_unknown", f"The project has no image {digest}.")]
    if artifact.kind != "oci":
        return [Reason("artifact_kind", f"{digest} is not an image.")]
    return await artifact_facts.digest_refusals(
        connection, tenant_id, project_id, digest, publisher_project_id, returning
    )


async def _refusals(
    connection: Connection,
    row: VersionFacts | RegisteredVersion,
    tenant_id: str,
    project_id: str | None,
    returning: bool = False,
    own_draft: bool = False,
) -> list[Reason]:
    """Decide whether a version may be taken; nothing else does. Without a project its artifacts are not asked."""
    canary = row.status == "canary"
    channel = "stable"
    if canary and project_id is not None and not returning:
        channel = await project_channel(connection, row.app_id, project_id)
    trial = is_on_trial(row, project_id) or (own_draft and row.status == "draft" and row.project_id == project_id)
    reasons = list(machine.launch_refusals(row.version, row.status, row.notice, returning, channel, trial))
    if project_id is not None:
        for digest in digests_of(row.manifest):
            artifact = (digest, row.project_id)
            place = (tenant_id, project_id)
            found = await artifact_facts.digest_refusals(connection, *place, *artifact, returning, trial)
            # Who gets a canary is decided by the version's channel, not a second time by its artifact's percentage.
            reasons += [one for one in found if not (canary and one.code == "not_in_canary")]
    return list(dict.fromkeys(reasons))


async def version_for_smoke(tx: Tx, caller: Caller, app_id: str, version_id: str) -> RegisteredVersion:
    """Return a version that its publisher has launched for a smoke test. A draft is put on trial."""
    row = await queries.version_lock(tx.connection, caller.project_id, app_id, version_id)
    if row is None:
        raise not_found("version", version_id)
    if row.status not in machine.TRYABLE:
        raise Problem("conflict", f"Version {row.version} is {row.status}; it is not launched any more.")
    if row.status == "draft" and row.trial_since is None:
        if not identity.is_permitted(caller, "app_version_trial", own=False):
            raise Problem("forbidden", "This draft is not on trial, and you may not put it on trial.")
        await queries.version_move(tx.connection, row.id, "draft", {"trial_since": tx.now})
        await controller_hooks().app_changed(tx, row.app_id)
    return row


def is_on_trial(row: VersionFacts | RegisteredVersion, project_id: str | None) -> bool:
    """Tell whether the project publishes this draft and has put it on trial: then it, and nobody else, may launch it."""
    return row.status == "draft" and row.trial_since is not None and row.project_id == project_id


async def project_channel(connection: Connection, app_id: str, project_id: str) -> Channel:
    """Tell which versions of the app the project gets."""
    percent = await channel_queries.canary_percent(connection, app_id)
    pinned = await channel_queries.channels_pinned(connection, project_id, [app_id])
    return channel_of(app_id, project_id, percent, pinned.get(app_id))


def not_launchable(slug: str, reasons: Sequence[Reason]) -> Problem:
    return Problem(
        "not_launchable", " ".join(one.message for one in reasons), {"app": slug, "reasons": reason_documents(reasons)}
    )


def reason_documents(reasons: Sequence[Reason]) -> list[dict[str, str]]:
    return [{"code": one.code, "message": one.message} for one in reasons]


async def version_notices(connection: Connection, version_ids: Sequence[str]) -> dict[str, VersionNotice]:
    """Return the notices of those versions that are deprecated or retired, by id."""
    return {row.id: row for row in await queries.version_notices(connection, version_ids)}


async def active_versions_on_digest(connection: Connection, project_id: str, digest: str) -> int:
    """Count the active versions of the publishing project that refer to the artifact."""
    return await queries.active_on_digest(connection, project_id, digest)


async def versions_naming(
    connection: Connection, digests: Sequence[str], project_id: str | None = None
) -> list[NamingVersion]:
    """List the versions whose profiles name one of these digests beside the version's own artifact: those of the publishing
    project, or all that the caller may see.
    """
    return await queries.versions_naming(connection, digests, project_id)


async def digests_referred(connection: Connection, project_id: str, digests: Sequence[str]) -> list[str]:
    """Return those of the digests to which a version of the publishing project refers that is not retired."""
    return await queries.digests_referred(connection, project_id, digests)


async def last_retirements(connection: Connection, project_id: str, digests: Sequence[str]) -> dict[str, datetime]:
    """Return when a version of the publishing project that refers to the digest was last retired, by digest."""
    found = await queries.last_retirements(connection, project_id, digests)
    return {one.digest: one.retired_at for one in found}


async def versions_on_digest(connection: Connection, project_id: str, digest: str, limit: int) -> list[str]:
    """Name the versions of the publishing project that are not retired and refer to the artifact, as `app version`."""
    return await queries.versions_on_digest(connection, project_id, digest, limit)


async def app_for_tenant(connection: Connection, tenant_id: str, slug: str) -> AppRow:
    """Return the app if a project of this tenant may see it in its catalogue."""
    app = await queries.catalog_app(connection, tenant_id, slug)
    if app is None:
        raise not_found("app", slug)
    return app


async def app_of_project(connection: Connection, project_id: str, slug: str) -> AppRow:
    """Return the app if this project publishes it."""
    app = await queries.app_by_slug(connection, slug)
    if app is None or app.project_id != project_id:
        raise not_found("app of this project", slug)
    return app


async def app_list(connection: Connection, project_id: str | None, page: PageRequest, caller: Caller) -> Page[App]:
    rows = await queries.app_list(connection, project_id, page)
    return Page[App].of([app_document(row, caller) for row in rows], page)


async def app_show(connection: Connection, app_id: str, caller: Caller) -> App:
    row = await queries.app_show(connection, caller.project_id, app_id)
    if row is None:
        raise not_found("app", app_id)
    return app_document(row, caller)


async def app_visibility_set(
    tx: Tx, app_id: str, body: AppVisibilitySet, caller: Caller, require_match: RequireMatch
) -> App:
    """Set who sees the app in the catalogue. What runs already goes on."""
    before = await queries.app_lock(tx.connection, app_id)
    if before is None:
        raise not_found("app", app_id)
    require_match(before.generation)
    row = await queries.app_visibility_set(tx.connection, app_id, body.visibility)
    resource = (app_id, row.tenant_id, row.project_id)
    details: dict[str, object] = {"before": before.visibility, "after": body.visibility}
    await record(tx, AuditEntry("app_visibility_set", *resource, reason=body.reason, details=details))
    await emit(tx, NewEvent("app.visibility_set", *resource, data={"visibility": body.visibility}))
    return app_document(row, caller)


def app_document(row: AppRow, caller: Caller) -> App:
    possible = [*_APP_VERBS, *(["app_rollback"] if row.previous_version_id is not None else [])]
    return App(**fields_of(row), allowed_actions=identity.allowed_actions(caller, possible))
