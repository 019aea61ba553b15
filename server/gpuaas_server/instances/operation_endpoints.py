"""Serves what is done with an operation over HTTP: by people first, by the controller that works on it below."""

from datetime import datetime
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from gpuaas_server.access import service as access
from gpuaas_server.access.schemas import MachineAccess, MachineAccessCreate
from gpuaas_server.access.service import MachineAccessRequest, certificate_sources
from gpuaas_server.artifacts import service as artifacts
from gpuaas_server.artifacts.schemas import RuntimeSecret, RuntimeSecretCreate
from gpuaas_server.instances import cancellation, controller, served_instances
from gpuaas_server.instances.controller_access import leased_operation
from gpuaas_server.instances.controller_schemas import (
    ClaimedOperation,
    OperationComplete,
    OperationFail,
    OperationReport,
    ServedInstance,
)
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change, reply
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import add_routes, api_router
from gpuaas_server.kernel.http.schemas import Slug
from gpuaas_server.kernel.ids import OperationId, ProjectId
from gpuaas_server.operations.schemas import (
    LeaseRenewed,
    Operation,
    OperationCancel,
    OperationClaim,
    OperationForce,
    OperationGiveBack,
)
from gpuaas_server.operations.service import LeasedOperation, Limits
from gpuaas_server.pki import service as pki
from gpuaas_server.pki.service import read_public_key

router = api_router()
_operations = api_router(tags=["operations"])
_access = api_router(tags=["access"])
_registry = api_router(tags=["artifacts", "registry"])
_controllers = api_router(tags=["controllers"])
PATH = "/projects/{project_id}/operations"
_LEASE_CODES = ("lease_lost", "not_the_controller")
_ACCESS_CODES = ("ssh_key_refused", *_LEASE_CODES, "idempotency_mismatch", "idempotency_in_progress")


@_operations.post(f"{PATH}/{{operation_id}}/cancel", response_model=Operation, responses=problem_responses("conflict"))
async def operation_cancel(
    project_id: ProjectId,
    operation_id: OperationId,
    body: OperationCancel,
    call: Annotated[Call, admitted_change("operation_cancel")],
) -> Response:
    """Cancel an operation. A pending one ends now; otherwise its controller is asked to stop (follow the operation)."""
    return await call.change(lambda tx: cancellation.operation_cancel(tx, call.caller, operation_id, body.reason))


@_operations.post(f"{PATH}/{{operation_id}}/force", response_model=Operation, responses=problem_responses("conflict"))
async def operation_force(
    project_id: ProjectId,
    operation_id: OperationId,
    body: OperationForce,
    call: Annotated[Call, admitted_change("operation_force")],
) -> Response:
    """End a stuck operation, or accept a teardown that is not proven. The record says *not verified* permanently."""
    return await call.change(lambda tx: cancellation.operation_force(tx, call.caller, operation_id, body.reason))


@_operations.post(
    f"{PATH}/{{operation_id}}/claim",
    response_model=ClaimedOperation,
    responses=problem_responses("operation_claimed", "not_the_controller"),
)
async def operation_claim(
    project_id: ProjectId,
    operation_id: OperationId,
    body: OperationClaim,
    call: Annotated[Call, admitted_change("operation_claim")],
) -> Response:
    """Claim an operation, as its controller. The lease is yours while you report; nobody else gets it until it lapses."""
    return await call.change(lambda tx: controller.operation_claim(tx, _limits(call), call.caller, operation_id, body))


@_operations.post(
    f"{PATH}/{{operation_id}}/report",
    response_model=LeaseRenewed,
    responses=problem_responses(*_LEASE_CODES, "stale_generation", "document_too_large", "document_invalid"),
)
async def operation_report(
    project_id: ProjectId,
    operation_id: OperationId,
    body: OperationReport,
    call: Annotated[Call, admitted_change("operation_report")],
) -> Response:
    """Report steps and progress, and a runtime to keep whatever comes. Each report renews the lease, even an empty one."""
    caller = call.caller
    return await call.change(lambda tx: controller.operation_report(tx, _limits(call), caller, operation_id, body))


@_operations.post(
    f"{PATH}/{{operation_id}}/complete",
    response_model=Operation,
    responses=problem_responses(*_LEASE_CODES, "document_too_large", "document_invalid"),
)
async def operation_complete(
    project_id: ProjectId,
    operation_id: OperationId,
    body: OperationComplete,
    call: Annotated[Call, admitted_change("operation_complete")],
) -> Response:
    """Report that the operation is done. After a teardown it stays running until the hosts are proven clean."""
    return await call.change(
        lambda tx: controller.operation_complete(tx, _limits(call), call.caller, operation_id, body)
    )


@_operations.post(
    f"{PATH}/{{operation_id}}/fail",
    response_model=Operation,
    responses=problem_responses(*_LEASE_CODES, "document_too_large", "document_invalid"),
)
async def operation_fail(
    project_id: ProjectId,
    operation_id: OperationId,
    body: OperationFail,
    call: Annotated[Call, admitted_change("operation_fail")],
) -> Response:
    """Report that the operation failed, why, and what to do next. After a request to cancel, it ends as `cancelled`."""
    return await call.change(lambda tx: controller.operation_fail(tx, call.caller, operation_id, body))


@_operations.post(
    f"{PATH}/{{operation_id}}/give-back", response_model=Operation, responses=problem_responses(*_LEASE_CODES)
)
async def operation_give_back(
    project_id: ProjectId,
    operation_id: OperationId,
    body: OperationGiveBack,
    call: Annotated[Call, admitted_change("operation_give_back")],
) -> Response:
    """Give an operation back when a replica shuts down. Another replica resumes it immediately."""
    return await call.change(lambda tx: controller.operation_give_back(tx, call.caller, operation_id, body.lease_token))


@_access.post(
    f"{PATH}/{{operation_id}}/machine-access",
    status_code=201,
    response_model=MachineAccess,
    responses=problem_responses("source_addresses_needed", *_ACCESS_CODES),
)
async def operation_machine_access(
    project_id: ProjectId,
    operation_id: OperationId,
    body: MachineAccessCreate,
    call: Annotated[Call, admitted_change("operation_machine_access")],
) -> Response:
    """Sign SSH certificates for the allocations of an operation whose lease you have. They last an hour at most and end with
    the operation.
    """
    platform, actor = call.platform, call.actor
    public = read_public_key(body.public_key)
    authority = pki.signer(await pki.live_keys(platform, "ssh_user_ca"), platform.clock())
    sources = certificate_sources(actor, body.source_addresses, platform.settings)

    async def issue(tx: Tx) -> MachineAccess:
        await access.lock_operation_access(tx, operation_id)
        leased = await leased_operation(tx.connection, call.caller, operation_id, body.lease_token, actor, tx.now)
        return await access.operation_certificates_issue(tx, leased, MachineAccessRequest(public, authority, sources))

    return await call.change(issue, status=201)


@_registry.post(
    f"{PATH}/{{operation_id}}/runtime-secrets",
    status_code=201,
    response_model=RuntimeSecret,
    responses=problem_responses(
        "lease_lost",
        "artifact_unknown",
        "artifact_revoked",
        "registry_not_allowed",
        "registry_unavailable",
        "pull_credential_private",
        "storage_unavailable",
        "secret_store_unavailable",
    ),
)
async def runtime_secret_create(
    project_id: ProjectId,
    operation_id: OperationId,
    body: RuntimeSecretCreate,
    call: Annotated[Call, admitted_change("runtime_secret_create")],
) -> Response:
    """Create a secret with which the hosts of this operation pull its artifact. It is valid for minutes, for this artifact
    only, and sealed to you.
    """
    platform, actor = call.platform, call.actor

    async def leased_at(connection: Connection, now: datetime) -> LeasedOperation:
        return await leased_operation(connection, call.caller, operation_id, body.lease_token, actor, now)

    async with platform.database.connection(call.admission.scope) as connection:
        leased = await leased_at(connection, platform.clock())
        secret_id = await artifacts.pull_secret_id(connection, leased, body)
    opened = await artifacts.open_pull_credential(platform, secret_id)

    async def issue(tx: Tx) -> RuntimeSecret:
        leased = await leased_at(tx.connection, tx.now)
        return await artifacts.runtime_secret_create(tx, platform.settings, leased, body, opened)

    return await call.change(issue, status=201)


@_controllers.get(
    "/projects/{project_id}/controller/instances", response_model=Page[ServedInstance], responses=problem_responses()
)
async def controller_instance_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("controller_instance_list")],
    page: PageQuery,
    app: Annotated[Slug, Query(description="Slug of an app that the service account is bound to.")],
) -> Response:
    """List the running instances that this controller serves, oldest first: of its project and of tenants that consent."""
    return reply(await served_instances.controller_instance_list(call.platform, call.admission, project_id, app, page))


def _limits(call: Call) -> Limits:
    return Limits.of(call.platform.settings)


add_routes(router, _operations, _access, _registry, _controllers)
