"""Members: who holds which role in a tenant or in a project."""

from typing import Annotated

from starlette.responses import Response

from gpuaas_server.access import members
from gpuaas_server.identity import service as identity
from gpuaas_server.identity.service import Member, ProjectMemberSet, RoleTarget, TenantMemberSet
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import ProjectId, TenantId, UserId
from gpuaas_server.kernel.pages import PageRequest

router = api_router(tags=["members"])

_TENANT = problem_responses("precondition_failed", "last_admin")
_PROJECT = problem_responses("precondition_failed")


@router.get("/tenants/{tenant_id}/members", response_model=Page[Member], responses=problem_responses())
async def tenant_member_list(
    tenant_id: TenantId,
    call: Annotated[Call, admitted("tenant_member_list")],
    page: PageQuery,
) -> Response:
    """List the users with a role in the tenant as a whole."""
    return await _list(call, RoleTarget(tenant_id), page)


@router.put("/tenants/{tenant_id}/members/{user_id}", response_model=Member, responses=_TENANT)
async def tenant_member_set(
    tenant_id: TenantId,
    user_id: UserId,
    body: TenantMemberSet,
    call: Annotated[Call, admitted_change("tenant_member_set")],
) -> Response:
    """Give a user of the tenant a role in the tenant as a whole. It replaces the previous one."""
    return await _set(call, "tenant_member_set", RoleTarget(tenant_id), user_id, body.role)


@router.delete("/tenants/{tenant_id}/members/{user_id}", status_code=204, responses=_TENANT)
async def tenant_member_remove(
    tenant_id: TenantId, user_id: UserId, call: Annotated[Call, admitted_change("tenant_member_remove")]
) -> Response:
    """Take the tenant role away from a user. Roles in projects stay; the last administrator cannot be removed."""
    return await _remove(call, "tenant_member_remove", RoleTarget(tenant_id), user_id)


@router.get("/projects/{project_id}/members", response_model=Page[Member], responses=problem_responses())
async def project_member_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("project_member_list")],
    page: PageQuery,
) -> Response:
    """List the users with a role in the project. Tenant administrators are not listed."""
    return await _list(call, RoleTarget(call.caller.tenant_id, project_id), page)


@router.put("/projects/{project_id}/members/{user_id}", response_model=Member, responses=_PROJECT)
async def project_member_set(
    project_id: ProjectId,
    user_id: UserId,
    body: ProjectMemberSet,
    call: Annotated[Call, admitted_change("project_member_set")],
) -> Response:
    """Give a user of the project's tenant a role in the project."""
    tenant_id, match = call.caller.tenant_id, call.require_match
    return await call.change(
        lambda tx: members.project_member_set(tx, tenant_id, project_id, user_id, body.role, match)
    )


@router.delete("/projects/{project_id}/members/{user_id}", status_code=204, responses=_PROJECT)
async def project_member_remove(
    project_id: ProjectId, user_id: UserId, call: Annotated[Call, admitted_change("project_member_remove")]
) -> Response:
    """Remove a user from the project. Their SSH certificates and grants in the project end too."""
    tenant_id, match = call.caller.tenant_id, call.require_match
    return await call.change(lambda tx: members.project_member_remove(tx, tenant_id, project_id, user_id, match))


async def _list(call: Call, place: RoleTarget, page: PageRequest) -> Response:
    return await call.read(lambda connection: identity.member_list(connection, place, page))


async def _set(call: Call, action: str, place: RoleTarget, user_id: str, role: str) -> Response:
    match = call.require_match
    return await call.change(lambda tx: identity.member_set(tx, action, user_id, role, place, match))


async def _remove(call: Call, action: str, place: RoleTarget, user_id: str) -> Response:
    match = call.require_match
    return await call.change(lambda tx: identity.member_remove(tx, action, user_id, place, match))
