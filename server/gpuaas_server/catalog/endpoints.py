"""The catalogue over HTTP: publishers' apps and versions, what a project may launch, who is entitled to what."""

from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from gpuaas_server.catalog import entitlements, entries, provided_apps, releases, service, versions
from gpuaas_server.catalog.schemas import (
    App,
    AppRollback,
    AppVersion,
    AppVersionCanary,
    AppVersionDeprecate,
    AppVersionDetail,
    AppVersionRegister,
    AppVersionRetire,
    AppVisibilitySet,
    CatalogApp,
    CatalogChannel,
    CatalogChannelSet,
    CatalogEntry,
    Entitlement,
    EntitlementGrant,
    ProvidedApp,
    ProvidedAppList,
    ProvidedAppReport,
)
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import AppId, AppVersionId, EntitlementId, ProjectId, TenantId

router = api_router(tags=["catalog"])

AppSlug = Annotated[str, Path(pattern="^[a-z][a-z0-9-]{1,38}[a-z0-9]$")]
Search = Annotated[
    str, Query(max_length=100, description="Only apps with these words in slug, name, description or keywords.")
]
VersionName = Annotated[
    str | None,
    Query(
        pattern="^[0-9A-Za-z.+-]{5,64}$", description="Version to show, such as 1.2.0. Absent: the newest active one."
    ),
]


@router.post(
    "/projects/{project_id}/app-versions",
    status_code=201,
    response_model=AppVersion,
    responses=problem_responses("manifest_invalid", "version_exists", "app_slug_taken"),
)
async def app_version_register(
    project_id: ProjectId, body: AppVersionRegister, call: Annotated[Call, admitted_change("app_version_register")]
) -> Response:
    """Register a draft of an app version from its manifest. The same content again returns the same version."""
    caller = call.caller
    return await call.change(lambda tx: versions.app_version_register(tx, body, caller), status=201)


@router.get("/projects/{project_id}/apps", response_model=Page[App], responses=problem_responses())
async def app_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("app_list")],
    page: PageQuery,
) -> Response:
    """List the apps that the project publishes."""
    caller = call.caller
    return await call.read(lambda connection: service.app_list(connection, project_id, page, caller))


@router.get("/projects/{project_id}/apps/{app_id}", response_model=App, responses=problem_responses())
async def app_show(project_id: ProjectId, app_id: AppId, call: Annotated[Call, admitted("app_show")]) -> Response:
    """Show an app as its publishers see it. To launch an app, look at the catalogue."""
    caller = call.caller
    return await call.read(lambda connection: service.app_show(connection, app_id, caller))


@router.get(
    "/projects/{project_id}/apps/{app_id}/versions", response_model=Page[AppVersion], responses=problem_responses()
)
async def app_version_list(
    project_id: ProjectId,
    app_id: AppId,
    call: Annotated[Call, admitted("app_version_list")],
    page: PageQuery,
) -> Response:
    """List the versions of the app, the highest first, with drafts and retired ones."""
    caller = call.caller
    return await call.read(lambda connection: versions.app_version_list(connection, caller, app_id, page))


@router.get(
    "/projects/{project_id}/apps/{app_id}/versions/{version_id}",
    response_model=AppVersionDetail,
    responses=problem_responses(),
)
async def app_version_show(
    project_id: ProjectId,
    app_id: AppId,
    version_id: AppVersionId,
    call: Annotated[Call, admitted("app_version_show")],
) -> Response:
    """Show a version with its whole manifest."""
    caller = call.caller
    return await call.read(lambda connection: versions.app_version_show(connection, caller, app_id, version_id))


@router.post(
    "/projects/{project_id}/apps/{app_id}/versions/{version_id}/trial",
    response_model=AppVersion,
    responses=problem_responses("conflict"),
)
async def app_version_trial(
    project_id: ProjectId,
    app_id: AppId,
    version_id: AppVersionId,
    call: Annotated[Call, admitted_change("app_version_trial")],
) -> Response:
    """Let this project, which publishes the draft, launch it by its version before its artifacts are active. Nobody else can.
    Trust is required as always: nothing that is revoked, or that the tenant's policy does not trust, is launched.
    """
    caller, match = call.caller, call.require_match
    return await call.change(lambda tx: versions.app_version_trial(tx, caller, app_id, version_id, match))


@router.post(
    "/projects/{project_id}/apps/{app_id}/versions/{version_id}/activate",
    response_model=AppVersion,
    responses=problem_responses("version_not_activatable"),
)
async def app_version_activate(
    project_id: ProjectId,
    app_id: AppId,
    version_id: AppVersionId,
    call: Annotated[Call, admitted_change("app_version_activate")],
) -> Response:
    """Activate a version, so that it can be launched. Its artifact must be active and not revoked."""
    caller, match = call.caller, call.require_match
    return await call.change(lambda tx: versions.app_version_activate(tx, caller, app_id, version_id, match))


@router.post(
    "/projects/{project_id}/apps/{app_id}/versions/{version_id}/canary",
    response_model=AppVersion,
    responses=problem_responses("version_not_activatable"),
)
async def app_version_canary(
    project_id: ProjectId,
    app_id: AppId,
    version_id: AppVersionId,
    body: AppVersionCanary,
    call: Annotated[Call, admitted_change("app_version_canary")],
) -> Response:
    """Make a version the canary of some projects, or change their percentage. To promote it, activate it."""
    caller, match = call.caller, call.require_match
    return await call.change(lambda tx: releases.app_version_canary(tx, caller, app_id, version_id, body, match))


@router.post("/projects/{project_id}/apps/{app_id}/rollback", response_model=AppVersion, responses=problem_responses())
async def app_rollback(
    project_id: ProjectId, app_id: AppId, body: AppRollback, call: Annotated[Call, admitted_change("app_rollback")]
) -> Response:
    """Roll back the app's canary. Without a canary, launches return to the version from before the last promotion."""
    caller, match = call.caller, call.require_match
    return await call.change(lambda tx: releases.app_rollback(tx, app_id, body, caller, match))


@router.put(
    "/projects/{project_id}/catalog/{slug}/channel", response_model=CatalogChannel, responses=problem_responses()
)
async def catalog_channel_set(
    project_id: ProjectId,
    slug: AppSlug,
    body: CatalogChannelSet,
    call: Annotated[Call, admitted_change("catalog_channel_set")],
) -> Response:
    """Choose which versions of an app this project gets: stable ones, the canary, or what the hash says."""
    return await call.change(lambda tx: releases.catalog_channel_set(tx, call.caller, slug, body))


@router.post(
    "/projects/{project_id}/apps/{app_id}/versions/{version_id}/deprecate",
    response_model=AppVersion,
    responses=problem_responses(),
)
async def app_version_deprecate(
    project_id: ProjectId,
    app_id: AppId,
    version_id: AppVersionId,
    body: AppVersionDeprecate,
    call: Annotated[Call, admitted_change("app_version_deprecate")],
) -> Response:
    """Deprecate a version. No new instance can use it; running instances continue and show the notice."""
    caller, match = call.caller, call.require_match
    return await call.change(lambda tx: versions.app_version_deprecate(tx, caller, app_id, version_id, body, match))


@router.post(
    "/projects/{project_id}/apps/{app_id}/versions/{version_id}/retire",
    response_model=AppVersion,
    responses=problem_responses("version_in_use"),
)
async def app_version_retire(
    project_id: ProjectId,
    app_id: AppId,
    version_id: AppVersionId,
    body: AppVersionRetire,
    call: Annotated[Call, admitted_change("app_version_retire")],
) -> Response:
    """Retire a draft, or a deprecated version that no instance runs and whose announced day has come."""
    caller, match = call.caller, call.require_match
    return await call.change(lambda tx: versions.app_version_retire(tx, caller, app_id, version_id, body, match))


@router.get("/projects/{project_id}/catalog", response_model=Page[CatalogApp], responses=problem_responses())
async def catalog_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("catalog_list")],
    page: PageQuery,
    search: Search = "",
) -> Response:
    """List the apps that this project may launch."""
    caller, settings, now = call.caller, call.platform.settings, call.platform.clock()
    return await call.read(lambda c: entries.catalog_list(c, settings, now, caller, search, page))


@router.get("/projects/{project_id}/catalog/{slug}", response_model=CatalogEntry, responses=problem_responses())
async def catalog_show(
    project_id: ProjectId, slug: AppSlug, call: Annotated[Call, admitted("catalog_show")], version: VersionName = None
) -> Response:
    """Show an app of the catalogue, with the manifest of the named version or of the newest active one."""
    caller, settings, now = call.caller, call.platform.settings, call.platform.clock()
    return await call.read(lambda c: entries.catalog_show(c, settings, now, caller, slug, version))


@router.put(
    "/projects/{project_id}/provided-apps/{slug}",
    response_model=ProvidedApp,
    responses=problem_responses(),
)
async def provided_app_report(
    project_id: ProjectId,
    slug: AppSlug,
    body: ProvidedAppReport,
    call: Annotated[Call, admitted_change("provided_app_report")],
) -> Response:
    """Report the state of one of the platform's own apps, from the platform's own project."""
    return await call.change(lambda tx: provided_apps.provided_app_report(tx, call.caller, slug, body))


@router.get("/projects/{project_id}/provided-apps", response_model=ProvidedAppList, responses=problem_responses())
async def provided_app_list(project_id: ProjectId, call: Annotated[Call, admitted("provided_app_list")]) -> Response:
    """List the platform's own apps by name: whether each is provided, and what to do if it is not."""
    caller = call.caller
    return await call.read(lambda connection: provided_apps.provided_app_list(connection, caller))


@router.get("/apps", response_model=Page[App], responses=problem_responses())
async def app_list_all(
    call: Annotated[Call, admitted("app_list_all")],
    page: PageQuery,
) -> Response:
    """List every app on the platform."""
    caller = call.caller
    return await call.read(lambda connection: service.app_list(connection, None, page, caller))


@router.put("/apps/{app_id}/visibility", response_model=App, responses=problem_responses("precondition_failed"))
async def app_visibility_set(
    app_id: AppId, body: AppVisibilitySet, call: Annotated[Call, admitted_change("app_visibility_set")]
) -> Response:
    """Set which tenants see the app in their catalogue. Running instances are not affected."""
    caller, match = call.caller, call.require_match
    return await call.change(lambda tx: service.app_visibility_set(tx, app_id, body, caller, match))


@router.get("/apps/{app_id}/entitlements", response_model=Page[Entitlement], responses=problem_responses())
async def app_entitlement_list(
    app_id: AppId,
    call: Annotated[Call, admitted("app_entitlement_list")],
    page: PageQuery,
) -> Response:
    """List the tenants that are entitled to the app."""
    return await call.read(lambda connection: entitlements.app_entitlement_list(connection, app_id, page))


@router.get("/tenants/{tenant_id}/entitlements", response_model=Page[Entitlement], responses=problem_responses())
async def tenant_entitlement_list(
    tenant_id: TenantId,
    call: Annotated[Call, admitted("tenant_entitlement_list")],
    page: PageQuery,
) -> Response:
    """List the apps that the tenant is entitled to."""
    return await call.read(lambda connection: entitlements.tenant_entitlement_list(connection, tenant_id, page))


@router.post(
    "/tenants/{tenant_id}/entitlements",
    status_code=201,
    response_model=Entitlement,
    responses=problem_responses("consent_not_permitted"),
)
async def entitlement_grant(
    tenant_id: TenantId, body: EntitlementGrant, call: Annotated[Call, admitted_change("entitlement_grant")]
) -> Response:
    """Let a tenant launch an app whose visibility is `entitled`. It can be repeated."""
    return await call.change(
        lambda tx: entitlements.entitlement_grant(tx, tenant_id, body.app, body.consent), status=201
    )


@router.delete("/tenants/{tenant_id}/entitlements/{entitlement_id}", status_code=204, responses=problem_responses())
async def entitlement_revoke(
    tenant_id: TenantId,
    entitlement_id: EntitlementId,
    call: Annotated[Call, admitted_change("entitlement_revoke")],
) -> Response:
    """Revoke an entitlement. The app leaves the tenant's catalogue; running instances continue."""
    return await call.change(lambda tx: entitlements.entitlement_revoke(tx, tenant_id, entitlement_id))
