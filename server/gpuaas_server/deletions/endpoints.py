"""Delete a tenant or a project after a grace period, undo it, and export what they hold."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from gpuaas_server.deletions import export, progress, service
from gpuaas_server.deletions.schemas import EXPORT, Deletion
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import ProjectId, TenantId
from gpuaas_server.projects.schemas import Project, Tenant

router = api_router()

_DELETE = problem_responses("not_empty", "precondition_failed")
_EXPORT = {200: EXPORT, **problem_responses("too_many_streams")}


@router.get("/deletions", response_model=Page[Deletion], responses=problem_responses())
async def deletion_list(
    call: Annotated[Call, admitted("deletion_list")],
    page: PageQuery,
    stuck: Annotated[
        bool | None, Query(description="Only deletions that have made no progress for ten minutes.")
    ] = None,
) -> Response:
    """List the deletions of tenants and projects that have not ended, newest first: what each waits for, and the next step."""
    now = call.platform.clock()
    return await call.read(lambda connection: progress.deletion_list(connection, now, stuck, page))


@router.delete("/tenants/{tenant_id}", status_code=202, response_model=Tenant, responses=_DELETE)
async def tenant_delete(tenant_id: TenantId, call: Annotated[Call, admitted_change("tenant_delete")]) -> Response:
    """Request the deletion of an empty tenant. Its people and programs are refused immediately. The deletion can be undone
    until `delete_after`; then everything in the tenant is removed. A repetition changes nothing.
    """
    caller, match, settings = call.caller, call.require_match, call.platform.settings
    return await call.change(lambda tx: service.tenant_delete(tx, settings, caller, match), status=202)


@router.post("/tenants/{tenant_id}/undelete", response_model=Tenant, responses=_DELETE)
async def tenant_undelete(tenant_id: TenantId, call: Annotated[Call, admitted_change("tenant_undelete")]) -> Response:
    """Undo the deletion of a tenant before its date. Accounts, keys and sessions are as they were."""
    caller, match = call.caller, call.require_match
    return await call.change(lambda tx: service.tenant_undelete(tx, caller, match))


@router.get("/tenants/{tenant_id}/export", response_class=Response, responses=_EXPORT)
async def tenant_export(tenant_id: TenantId, call: Annotated[Call, admitted("tenant_export")]) -> Response:
    """Export everything that the platform stores about the tenant and its projects, as JSON lines. Secrets are not included."""
    return await export.export_response(call, tenant_id, None)


@router.delete("/projects/{project_id}", status_code=202, response_model=Project, responses=_DELETE)
async def project_delete(project_id: ProjectId, call: Annotated[Call, admitted_change("project_delete")]) -> Response:
    """Request the deletion of an empty project. Nothing in it can be changed from now on, and its service accounts are
    refused. The deletion can be undone until `delete_after`; then everything in the project is removed. A repetition changes
    nothing.
    """
    caller, match, settings = call.caller, call.require_match, call.platform.settings
    return await call.change(lambda tx: service.project_delete(tx, settings, caller, match), status=202)


@router.post("/projects/{project_id}/undelete", response_model=Project, responses=_DELETE)
async def project_undelete(
    project_id: ProjectId, call: Annotated[Call, admitted_change("project_undelete")]
) -> Response:
    """Undo the deletion of a project before its date."""
    caller, match = call.caller, call.require_match
    return await call.change(lambda tx: service.project_undelete(tx, caller, match))


@router.get("/projects/{project_id}/export", response_class=Response, responses=_EXPORT)
async def project_export(project_id: ProjectId, call: Annotated[Call, admitted("project_export")]) -> Response:
    """Export everything that the platform stores about the project, as JSON lines. Secrets are not included."""
    return await export.export_response(call, call.caller.tenant_id, project_id)
