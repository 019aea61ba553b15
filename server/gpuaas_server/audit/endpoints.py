"""Read the audit trail: of the platform, of a tenant, of a project."""

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import Depends, Query
from starlette.responses import Response

from gpuaas_server.audit import service
from gpuaas_server.audit.schemas import AuditRecord, Retention
from gpuaas_server.audit.service import AuditFilter
from gpuaas_server.kernel.http.call import Call, admitted, reply
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.http.schemas import Moment
from gpuaas_server.kernel.ids import ProjectId, TenantId
from gpuaas_server.kernel.pages import PageRequest

router = api_router(tags=["audit"])

_ID = "^[a-z]{2,3}_[0-9a-z]{26}$"


async def _filter(
    resource_id: Annotated[
        str | None, Query(pattern=_ID, description="Only records about the resource with this id.")
    ] = None,
    actor_id: Annotated[str | None, Query(pattern=_ID, description="Only records of this actor.")] = None,
    correlation_id: Annotated[
        str | None, Query(pattern="^[A-Za-z0-9._:-]{8,128}$", description="Only records of this request.")
    ] = None,
    action: Annotated[
        str | None, Query(pattern="^[a-z_]{3,60}$", description="Only this action, such as allocation_release.")
    ] = None,
    outcome: Annotated[
        Literal["done", "denied", "failed"] | None,
        Query(description="Only this outcome. failed: accepted, but not successful."),
    ] = None,
    source: Annotated[
        Literal["api", "console", "cli", "controller", "agent", "system"] | None,
        Query(description="Only this source. system: the platform itself."),
    ] = None,
    since: Annotated[Moment | None, Query(description="Only records from this time on, with a time zone.")] = None,
    before: Annotated[Moment | None, Query(description="Only records before this time, with a time zone.")] = None,
) -> AuditFilter:
    return AuditFilter(
        resource_id=resource_id,
        actor_id=actor_id,
        correlation_id=correlation_id,
        action=action,
        outcome=outcome,
        source=source,
        since=since,
        before=before,
    )


Wanted = Annotated[AuditFilter, Depends(_filter)]


async def _list(call: Call, wanted: AuditFilter, page: PageRequest) -> Response:
    return await call.read(lambda connection: service.audit_list(connection, wanted, page))


@router.get("/retention", response_model=Retention, responses=problem_responses())
async def retention_show(call: Annotated[Call, admitted("retention_show")]) -> Response:
    """Show for how many days the platform keeps audit records, events and other records."""
    return reply(service.retention_show(call.platform.settings))


@router.get("/audit", response_model=Page[AuditRecord], responses=problem_responses())
async def audit_list(
    call: Annotated[Call, admitted("audit_list")],
    page: PageQuery,
    wanted: Wanted,
) -> Response:
    """List the audit records of the whole platform, newest first, with refused attempts. For platform roles."""
    return await _list(call, wanted, page)


@router.get("/tenants/{tenant_id}/audit", response_model=Page[AuditRecord], responses=problem_responses())
async def tenant_audit_list(
    tenant_id: TenantId,
    call: Annotated[Call, admitted("tenant_audit_list")],
    page: PageQuery,
    wanted: Wanted,
) -> Response:
    """List the audit records of the tenant and its projects, newest first, with refused attempts."""
    return await _list(call, replace(wanted, tenant_id=tenant_id), page)


@router.get("/projects/{project_id}/audit", response_model=Page[AuditRecord], responses=problem_responses())
async def project_audit_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("project_audit_list")],
    page: PageQuery,
    wanted: Wanted,
) -> Response:
    """List the audit records of the project, newest first, with refused attempts."""
    return await _list(call, replace(wanted, project_id=project_id), page)
