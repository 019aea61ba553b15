"""The catalogue over HTTP: publishers' apps and versions, what a project may launch, who is entitled to what."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from gpuaas_server.catalog import entitlements, entries, service, versions
from gpuaas_server.catalog.schemas import (
    App,
    AppVersion,
    AppVersionDeprecate,
    AppVersionDetail,
    AppVersionRegister,
    AppVersionRetire,
    AppVisibilitySet,
    CatalogApp,
    CatalogEntry,
    Entitlement,
    EntitlementGrant,
)
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.pages import Page, PageAfter, PageLimit
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.ids import AppId, AppVersionId, EntitlementId, ProjectId, TenantId

router = APIRouter(tags=["catalog"])

AppSlug = Annotated[str, Path(pattern="^[a-z][a-z0-9-]{1,38}[a-z0-9]$")]
Search = Annotated[str, Query(max_length=100, description="Words that slug, names, description or keywords have.")]
VersionName = Annotated[str | None, Query(pattern="^[0-9A-Za-z.+-]{5,64}$", description="As in 1.2.0.")]


@router.post(
    "/projects/{project_id}/app-versions",
    status_code=201,
    response_model=AppVersion,
    responses=problem_responses("manifest_invalid", "version_exists", "app_slug_taken"),
)
async def app_version_register(
    project_id: ProjectId, body: AppVersionRegister, call: Annotated[Call, admitted_change("app_version_register")]
) -> Response:
    """A draft of this version, from its manifest. The same content again is answered with the same version."""
    path, caller = (call.caller.tenant_id, project_id), call.caller
    return await call.change(lambda tx: versions.app_version_register(tx, *path, body, caller), status=201)


@router.get("/projects/{project_id}/apps", response_model=Page[App], responses=problem_responses())
async def app_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("app_list")],
    after: PageAfter = None,
    limit: PageLimit = 50,
) -> Response:
    """The apps that the project publishes."""
    caller = call.caller
    return await call.read(lambda connection: service.app_list(connection, project_id, after, limit, caller))


@router.get("/projects/{project_id}/apps/{app_id}", response_model=App, responses=problem_responses())
async def app_show(project_id: ProjectId, app_id: AppId, call: Annotated[Call, admitted("app_show")]) -> Response:
    """An app as those see it who publish it. To launch it, look at the catalogue."""
    caller = call.caller
    return await call.read(lambda connection: service.app_show(connection, project_id, app_id, caller))


@router.get(
    "/projects/{project_id}/apps/{app_id}/versions", response_model=Page[AppVersion], responses=problem_responses()
)
async def app_version_list(
    project_id: ProjectId,
    app_id: AppId,
    call: Annotated[Call, admitted("app_version_list")],
    after: PageAfter = None,
    limit: PageLimit = 50,
) -> Response:
    """Versions of the app, the highest first; drafts and retired ones too."""
    page, caller = (after, limit), call.caller
    return await call.read(lambda connection: versions.app_version_list(connection, project_id, app_id, page, caller))


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
    """The version with its whole manifest."""
    path, caller = (project_id, app_id, version_id), call.caller
    return await call.read(lambda connection: versions.app_version_show(connection, path, caller))


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
    """From here on it can be launched. Its artifact must be active, and not revoked."""
    path, caller, match = (project_id, app_id, version_id), call.caller, call.require_match
    return await call.change(lambda tx: versions.app_version_activate(tx, path, caller, match))


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
    """No new instance takes it; those that run go on, and show the notice."""
    path, caller, match = (project_id, app_id, version_id), call.caller, call.require_match
    return await call.change(lambda tx: versions.app_version_deprecate(tx, path, body, caller, match))


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
    """The end of a deprecated version, once nobody runs it and the announced day has come; or of a draft."""
    path, caller, match = (project_id, app_id, version_id), call.caller, call.require_match
    return await call.change(lambda tx: versions.app_version_retire(tx, path, body, caller, match))


@router.get("/projects/{project_id}/catalog", response_model=Page[CatalogApp], responses=problem_responses())
async def catalog_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("catalog_list")],
    search: Search = "",
    after: PageAfter = None,
    limit: PageLimit = 50,
) -> Response:
    """What this project may launch."""
    tenant_id = call.caller.tenant_id
    return await call.read(lambda connection: entries.catalog_list(connection, tenant_id, search, after, limit))


@router.get("/projects/{project_id}/catalog/{slug}", response_model=CatalogEntry, responses=problem_responses())
async def catalog_show(
    project_id: ProjectId, slug: AppSlug, call: Annotated[Call, admitted("catalog_show")], version: VersionName = None
) -> Response:
    """One app in full, with the manifest of the version asked for, else of the newest active one."""
    tenant_id = call.caller.tenant_id
    return await call.read(lambda connection: entries.catalog_show(connection, tenant_id, slug, version))


@router.get("/apps", response_model=Page[App], responses=problem_responses())
async def app_list_all(
    call: Annotated[Call, admitted("app_list_all")], after: PageAfter = None, limit: PageLimit = 50
) -> Response:
    """Every app on the platform."""
    caller = call.caller
    return await call.read(lambda connection: service.app_list(connection, None, after, limit, caller))


@router.put("/apps/{app_id}/visibility", response_model=App, responses=problem_responses("precondition_failed"))
async def app_visibility_set(
    app_id: AppId, body: AppVisibilitySet, call: Annotated[Call, admitted_change("app_visibility_set")]
) -> Response:
    """Say which tenants see the app in their catalogue. What runs already goes on, whoever sees it."""
    caller, match = call.caller, call.require_match
    return await call.change(lambda tx: service.app_visibility_set(tx, app_id, body, caller, match))


@router.get("/apps/{app_id}/entitlements", response_model=Page[Entitlement], responses=problem_responses())
async def app_entitlement_list(
    app_id: AppId,
    call: Annotated[Call, admitted("app_entitlement_list")],
    after: PageAfter = None,
    limit: PageLimit = 50,
) -> Response:
    """The tenants that are entitled to the app."""
    return await call.read(lambda connection: entitlements.app_entitlement_list(connection, app_id, after, limit))


@router.get("/tenants/{tenant_id}/entitlements", response_model=Page[Entitlement], responses=problem_responses())
async def tenant_entitlement_list(
    tenant_id: TenantId,
    call: Annotated[Call, admitted("tenant_entitlement_list")],
    after: PageAfter = None,
    limit: PageLimit = 50,
) -> Response:
    """The apps that the tenant is entitled to."""
    return await call.read(lambda connection: entitlements.tenant_entitlement_list(connection, tenant_id, after, limit))


@router.post(
    "/tenants/{tenant_id}/entitlements", status_code=201, response_model=Entitlement, responses=problem_responses()
)
async def entitlement_grant(
    tenant_id: TenantId, body: EntitlementGrant, call: Annotated[Call, admitted_change("entitlement_grant")]
) -> Response:
    """Let a tenant launch an app whose visibility is `entitled`. Granting what is granted is no error."""
    return await call.change(lambda tx: entitlements.entitlement_grant(tx, tenant_id, body.app), status=201)


@router.delete("/tenants/{tenant_id}/entitlements/{entitlement_id}", status_code=204, responses=problem_responses())
async def entitlement_revoke(
    tenant_id: TenantId,
    entitlement_id: EntitlementId,
    call: Annotated[Call, admitted_change("entitlement_revoke")],
) -> Response:
    """The app leaves the tenant's catalogue; what runs there goes on."""
    return await call.change(lambda tx: entitlements.entitlement_revoke(tx, tenant_id, entitlement_id))
