"""Users: those of a tenant under the tenant, all of them for the platform, and the platform's own roles."""

from typing import Annotated

from starlette.responses import Response

from gpuaas_server.identity import members, users
from gpuaas_server.identity.members import RoleTarget
from gpuaas_server.identity.passwords import hash_new_password
from gpuaas_server.identity.schemas import (
    Member,
    PlatformRoleSet,
    TenantUserCreate,
    User,
    UserCreate,
    UserUpdate,
    UserWithPassword,
)
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import TenantId, UserId
from gpuaas_server.kernel.pages import PageRequest

router = api_router(tags=["users"])

_CREATING = problem_responses("weak_password", "already_exists", "sign_in_busy")
_CHANGING = problem_responses("precondition_failed", "last_admin")
_DELETING = problem_responses("precondition_failed", "last_admin", "conflict")
_UPDATING = problem_responses("precondition_failed", "last_admin", "sign_in_busy")


@router.post("/users", status_code=201, response_model=UserWithPassword, responses=_CREATING)
async def user_create(body: UserCreate, call: Annotated[Call, admitted_change("user_create")]) -> Response:
    """Create a user of the platform, or of the named tenant. A password that the platform makes is shown only now."""
    return await _create(call, "user_create", body.tenant_id, body)


@router.get("/users", response_model=Page[User], responses=problem_responses())
async def user_list(
    call: Annotated[Call, admitted("user_list")],
    page: PageQuery,
) -> Response:
    """List the users of all tenants and of the platform, newest first."""
    return await _list(call, None, page)


@router.get("/users/{user_id}", response_model=User, responses=problem_responses())
async def user_show(user_id: UserId, call: Annotated[Call, admitted("user_show")]) -> Response:
    """Show a user of any tenant, with all roles."""
    return await _show(call, None, user_id)


@router.patch("/users/{user_id}", response_model=UserWithPassword, responses=_UPDATING)
async def user_update(
    user_id: UserId, body: UserUpdate, call: Annotated[Call, admitted_change("user_update")]
) -> Response:
    """Rename, disable or unlock a user, or make a new password (shown once). Disabling ends all access of the user."""
    return await _update(call, "user_update", None, user_id, body)


@router.delete("/users/{user_id}", status_code=204, responses=_DELETING)
async def user_delete(user_id: UserId, call: Annotated[Call, admitted_change("user_delete")]) -> Response:
    """Delete a user permanently. Name and e-mail address are removed, and all access ends immediately; audit records keep the
    id.
    """
    return await _delete(call, "user_delete", None, user_id)


@router.post("/users/{user_id}/unlock", response_model=User, responses=problem_responses())
async def user_unlock(user_id: UserId, call: Annotated[Call, admitted_change("user_unlock")]) -> Response:
    """End the lockouts of a user after wrong passwords, in all networks."""
    return await _unlock(call, "user_unlock", None, user_id)


@router.put(
    "/users/{user_id}/platform-role",
    response_model=Member,
    responses=problem_responses("precondition_failed", "last_admin", "conflict"),
)
async def platform_role_set(
    user_id: UserId, body: PlatformRoleSet, call: Annotated[Call, admitted_change("platform_role_set")]
) -> Response:
    """Make a user of the platform its administrator or operator. This replaces the previous role."""
    return await call.change(
        lambda tx: members.member_set(tx, "platform_role_set", user_id, body.role, RoleTarget(), call.require_match)
    )


@router.delete("/users/{user_id}/platform-role", status_code=204, responses=_CHANGING)
async def platform_role_remove(
    user_id: UserId, call: Annotated[Call, admitted_change("platform_role_remove")]
) -> Response:
    """Take the platform role away from a user. The last administrator cannot be removed."""
    return await call.change(
        lambda tx: members.member_remove(tx, "platform_role_remove", user_id, RoleTarget(), call.require_match)
    )


@router.post("/tenants/{tenant_id}/users", status_code=201, response_model=UserWithPassword, responses=_CREATING)
async def tenant_user_create(
    tenant_id: TenantId, body: TenantUserCreate, call: Annotated[Call, admitted_change("tenant_user_create")]
) -> Response:
    """Create a user of the tenant, without a role. A password that the platform makes is shown only now."""
    return await _create(call, "tenant_user_create", tenant_id, body)


@router.get("/tenants/{tenant_id}/users", response_model=Page[User], responses=problem_responses())
async def tenant_user_list(
    tenant_id: TenantId,
    call: Annotated[Call, admitted("tenant_user_list")],
    page: PageQuery,
) -> Response:
    """List the users of the tenant, newest first, with disabled ones."""
    return await _list(call, tenant_id, page)


@router.get("/tenants/{tenant_id}/users/{user_id}", response_model=User, responses=problem_responses())
async def tenant_user_show(
    tenant_id: TenantId, user_id: UserId, call: Annotated[Call, admitted("tenant_user_show")]
) -> Response:
    """Show a user of the tenant, with the roles in the tenant and its projects."""
    return await _show(call, tenant_id, user_id)


@router.patch("/tenants/{tenant_id}/users/{user_id}", response_model=UserWithPassword, responses=_UPDATING)
async def tenant_user_update(
    tenant_id: TenantId,
    user_id: UserId,
    body: UserUpdate,
    call: Annotated[Call, admitted_change("tenant_user_update")],
) -> Response:
    """Rename, disable or unlock a user, or make a new password (shown once). Disabling ends all access of the user."""
    return await _update(call, "tenant_user_update", tenant_id, user_id, body)


@router.delete("/tenants/{tenant_id}/users/{user_id}", status_code=204, responses=_DELETING)
async def tenant_user_delete(
    tenant_id: TenantId, user_id: UserId, call: Annotated[Call, admitted_change("tenant_user_delete")]
) -> Response:
    """Delete a user of the tenant permanently. Name and e-mail address are removed, and all access ends immediately."""
    return await _delete(call, "tenant_user_delete", tenant_id, user_id)


@router.post("/tenants/{tenant_id}/users/{user_id}/unlock", response_model=User, responses=problem_responses())
async def tenant_user_unlock(
    tenant_id: TenantId, user_id: UserId, call: Annotated[Call, admitted_change("tenant_user_unlock")]
) -> Response:
    """End the lockouts of a user of the tenant after wrong passwords, in all networks."""
    return await _unlock(call, "tenant_user_unlock", tenant_id, user_id)


async def _create(call: Call, action: str, tenant_id: str | None, body: TenantUserCreate) -> Response:
    caller = call.caller
    password = await hash_new_password(body.password, body.email.lower())
    return await call.change(lambda tx: users.user_create(tx, action, tenant_id, body, password, caller), status=201)


async def _list(call: Call, tenant_id: str | None, page: PageRequest) -> Response:
    caller = call.caller
    return await call.read(lambda connection: users.user_list(connection, tenant_id, page, caller))


async def _show(call: Call, tenant_id: str | None, user_id: str) -> Response:
    caller = call.caller
    return await call.read(lambda connection: users.user_show(connection, tenant_id, user_id, caller))


async def _update(call: Call, action: str, tenant_id: str | None, user_id: str, body: UserUpdate) -> Response:
    caller, match = call.caller, call.require_match
    password = await hash_new_password(None, "") if body.reset_password else None
    return await call.change(
        lambda tx: users.user_update(tx, action, tenant_id, user_id, body, password, caller, match)
    )


async def _unlock(call: Call, action: str, tenant_id: str | None, user_id: str) -> Response:
    caller = call.caller
    return await call.change(lambda tx: users.user_unlock(tx, action, tenant_id, user_id, caller))


async def _delete(call: Call, action: str, tenant_id: str | None, user_id: str) -> Response:
    match = call.require_match
    return await call.change(lambda tx: users.user_delete(tx, action, tenant_id, user_id, match))
