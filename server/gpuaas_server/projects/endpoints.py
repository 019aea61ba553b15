"""Tenants and projects."""

from typing import Annotated

from starlette.responses import Response

from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import ProjectId, TenantId
from gpuaas_server.projects import service
from gpuaas_server.projects.schemas import (
    Project,
    ProjectCreate,
    ProjectUpdate,
    Tenant,
    TenantCreate,
    TenantUpdate,
)

router = api_router()


@router.post("/tenants", status_code=201, response_model=Tenant, responses=problem_responses("already_exists"))
async def tenant_create(body: TenantCreate, call: Annotated[Call, admitted_change("tenant_create")]) -> Response:
    """Create an empty tenant. Next, give it users and an administrator."""
    caller, settings = call.caller, call.platform.settings
    return await call.change(lambda tx: service.tenant_create(tx, settings, body, caller), status=201)


@router.get("/tenants", response_model=Page[Tenant], responses=problem_responses())
async def tenant_list(
    call: Annotated[Call, admitted("tenant_list")],
    page: PageQuery,
) -> Response:
    """List the tenants: all of them for platform roles, otherwise your own."""
    caller = call.caller
    return await call.read(lambda connection: service.tenant_list(connection, call.actor, page, caller))


@router.get("/tenants/{tenant_id}", response_model=Tenant, responses=problem_responses())
async def tenant_show(tenant_id: TenantId, call: Annotated[Call, admitted("tenant_show")]) -> Response:
    """Show the tenant, and what you may do with it."""
    caller = call.caller
    return await call.read(lambda connection: service.tenant_show(connection, caller))


@router.patch(
    "/tenants/{tenant_id}",
    response_model=Tenant,
    responses=problem_responses("precondition_failed", "wipe_grade_not_available"),
)
async def tenant_update(
    tenant_id: TenantId, body: TenantUpdate, call: Annotated[Call, admitted_change("tenant_update")]
) -> Response:
    """Rename or disable a tenant, or set its wipe grade. In a disabled tenant people can read, and end what runs, but change
    nothing else.
    """
    caller, match = call.caller, call.require_match
    return await call.change(lambda tx: service.tenant_update(tx, body, caller, match))


@router.post(
    "/tenants/{tenant_id}/projects",
    status_code=201,
    response_model=Project,
    responses=problem_responses("already_exists"),
)
async def project_create(
    tenant_id: TenantId, body: ProjectCreate, call: Annotated[Call, admitted_change("project_create")]
) -> Response:
    """Create a project of the tenant, without members. Tenant administrators have access to it anyway."""
    caller = call.caller
    return await call.change(lambda tx: service.project_create(tx, body, caller), status=201)


@router.get("/tenants/{tenant_id}/projects", response_model=Page[Project], responses=problem_responses())
async def tenant_project_list(
    tenant_id: TenantId,
    call: Annotated[Call, admitted("tenant_project_list")],
    page: PageQuery,
) -> Response:
    """List all projects of the tenant, newest first."""
    caller = call.caller
    return await call.read(lambda connection: service.tenant_project_list(connection, page, caller))


@router.get("/projects", response_model=Page[Project], responses=problem_responses())
async def project_list(
    call: Annotated[Call, admitted("project_list")],
    page: PageQuery,
) -> Response:
    """List the projects in which you have a role."""
    return await call.read(lambda connection: service.project_list(connection, call.actor, page))


@router.get("/projects/{project_id}", response_model=Project, responses=problem_responses())
async def project_show(project_id: ProjectId, call: Annotated[Call, admitted("project_show")]) -> Response:
    """Show the project, and what you may do with it."""
    caller = call.caller
    return await call.read(lambda connection: service.project_show(connection, caller))


@router.patch("/projects/{project_id}", response_model=Project, responses=problem_responses("precondition_failed"))
async def project_update(
    project_id: ProjectId, body: ProjectUpdate, call: Annotated[Call, admitted_change("project_update")]
) -> Response:
    """Rename or disable a project. In a disabled project people can read, and end what runs, but change nothing else."""
    caller, match = call.caller, call.require_match
    return await call.change(lambda tx: service.project_update(tx, body, caller, match))
