"""Service accounts of a project and their keys."""

from typing import Annotated

from starlette.responses import Response

from gpuaas_server.identity import service_accounts as service
from gpuaas_server.identity.schemas import (
    NewServiceAccount,
    NewServiceAccountKey,
    ServiceAccount,
    ServiceAccountCreate,
    ServiceAccountKey,
    ServiceAccountKeyCreate,
    ServiceAccountKeyUpdate,
    ServiceAccountUpdate,
)
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import KeyId, ProjectId, ServiceAccountId

router = api_router(prefix="/projects/{project_id}/service-accounts", tags=["service accounts"])


@router.post(
    "",
    status_code=201,
    response_model=NewServiceAccount,
    responses=problem_responses("already_exists", "controller_needs_apps"),
)
async def service_account_create(
    project_id: ProjectId,
    body: ServiceAccountCreate,
    call: Annotated[Call, admitted_change("service_account_create")],
) -> Response:
    """Create a service account. The answer has the secret of its first key, which is shown only now."""
    caller = call.caller
    return await call.change(lambda tx: service.service_account_create(tx, body, caller), status=201)


@router.get("", response_model=Page[ServiceAccount], responses=problem_responses())
async def service_account_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("service_account_list")],
    page: PageQuery,
) -> Response:
    """List the service accounts of the project, newest first. Secrets are never shown again."""
    caller = call.caller
    return await call.read(lambda connection: service.service_account_list(connection, page, caller))


@router.get("/{service_account_id}", response_model=ServiceAccount, responses=problem_responses())
async def service_account_show(
    project_id: ProjectId,
    service_account_id: ServiceAccountId,
    call: Annotated[Call, admitted("service_account_show")],
) -> Response:
    """Show a service account: what it may do, and until when."""
    caller = call.caller
    return await call.read(lambda connection: service.service_account_show(connection, service_account_id, caller))


@router.patch(
    "/{service_account_id}",
    response_model=ServiceAccount,
    responses=problem_responses("precondition_failed", "controller_needs_apps"),
)
async def service_account_update(
    project_id: ProjectId,
    service_account_id: ServiceAccountId,
    body: ServiceAccountUpdate,
    call: Annotated[Call, admitted_change("service_account_update")],
) -> Response:
    """Change the scopes, apps or expiry of a service account, or disable it. Disabling ends its tokens, certificates and
    grants.
    """
    caller, match = call.caller, call.require_match
    return await call.change(lambda tx: service.service_account_update(tx, service_account_id, body, caller, match))


@router.delete("/{service_account_id}", status_code=204, responses=problem_responses("precondition_failed"))
async def service_account_delete(
    project_id: ProjectId,
    service_account_id: ServiceAccountId,
    call: Annotated[Call, admitted_change("service_account_delete")],
) -> Response:
    """Delete the account permanently. Its keys, tokens, certificates and grants end immediately; its audit records stay."""
    match = call.require_match
    return await call.change(lambda tx: service.service_account_delete(tx, project_id, service_account_id, match))


@router.post(
    "/{service_account_id}/keys",
    status_code=201,
    response_model=NewServiceAccountKey,
    responses=problem_responses("conflict"),
)
async def service_account_key_create(
    project_id: ProjectId,
    service_account_id: ServiceAccountId,
    body: ServiceAccountKeyCreate,
    call: Annotated[Call, admitted_change("service_account_key_create")],
) -> Response:
    """Create another key. To rotate: create a key, hand it out, delete the old one; both work meanwhile."""
    return await call.change(
        lambda tx: service.service_account_key_create(tx, call.caller, service_account_id, body), status=201
    )


@router.get("/{service_account_id}/keys", response_model=Page[ServiceAccountKey], responses=problem_responses())
async def service_account_key_list(
    project_id: ProjectId,
    service_account_id: ServiceAccountId,
    call: Annotated[Call, admitted("service_account_key_list")],
    page: PageQuery,
) -> Response:
    """List the keys of the account, newest first, with their last use. Secrets are not shown."""
    return await call.read(
        lambda connection: service.service_account_key_list(connection, project_id, service_account_id, page)
    )


@router.patch("/{service_account_id}/keys/{key_id}", response_model=ServiceAccountKey, responses=problem_responses())
async def service_account_key_update(
    project_id: ProjectId,
    service_account_id: ServiceAccountId,
    key_id: KeyId,
    body: ServiceAccountKeyUpdate,
    call: Annotated[Call, admitted_change("service_account_key_update")],
) -> Response:
    """Disable a key, or enable it again. Disabling ends the tokens that it obtained, and the account's certificates."""
    return await call.change(
        lambda tx: service.service_account_key_update(tx, project_id, service_account_id, key_id, body)
    )


@router.delete("/{service_account_id}/keys/{key_id}", status_code=204, responses=problem_responses())
async def service_account_key_delete(
    project_id: ProjectId,
    service_account_id: ServiceAccountId,
    key_id: KeyId,
    call: Annotated[Call, admitted_change("service_account_key_delete")],
) -> Response:
    """End a key now, with the tokens that it obtained and the account's certificates. Other keys stay valid."""
    return await call.change(lambda tx: service.service_account_key_delete(tx, call.caller, service_account_id, key_id))
