"""Operations over HTTP: for people first, for controllers below."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from gpuaas_server.kernel.http.call import Call, admitted, admitted_change, reply
from gpuaas_server.kernel.http.pages import Page, PageAfter, PageLimit
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.ids import InstanceId, OperationId, ProjectId
from gpuaas_server.operations import controller, following, service
from gpuaas_server.operations.machine import Limits
from gpuaas_server.operations.schemas import (
    ClaimedOperation,
    LeaseRenewed,
    Operation,
    OperationCancel,
    OperationClaim,
    OperationComplete,
    OperationFail,
    OperationForce,
    OperationGiveBack,
    OperationReport,
    OperationStatus,
    WorkList,
)

router = APIRouter(tags=["operations"])
PATH = "/projects/{project_id}/operations"
Wait = Annotated[int, Query(ge=0, le=60, description="Seconds to wait for the first work.")]
ChangeWait = Annotated[int, Query(ge=0, le=60, description="Seconds to wait for something newer.")]
NewerThan = Annotated[
    int,
    Query(ge=0, le=2**63 - 1, description="The generation that you know. One that has ended is answered at once."),
]
_LEASE = ("lease_lost", "not_the_controller")


@router.get(PATH, response_model=Page[Operation], responses=problem_responses())
async def operation_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("operation_list")],
    instance_id: Annotated[InstanceId | None, Query()] = None,
    parent_id: Annotated[OperationId | None, Query(description="The children of a bulk operation.")] = None,
    status: Annotated[OperationStatus | None, Query()] = None,
    after: PageAfter = None,
    limit: PageLimit = 50,
) -> Response:
    """Operations of the project, newest first; of one instance, of one bulk operation, or in one status."""
    caller = call.caller
    return await call.read(
        lambda c: service.operation_list(c, caller, project_id, instance_id, parent_id, status, after, limit)
    )


@router.get("/operations", response_model=Page[Operation], responses=problem_responses())
async def operation_list_all(
    call: Annotated[Call, admitted("operation_list_all")],
    status: Annotated[OperationStatus | None, Query()] = None,
    after: PageAfter = None,
    limit: PageLimit = 50,
) -> Response:
    """Operations of all projects, newest first, for operators; in one status."""
    caller = call.caller
    return await call.read(lambda c: service.operation_list(c, caller, None, None, None, status, after, limit))


@router.get(f"{PATH}/{{operation_id}}", response_model=Operation, responses=problem_responses("too_many_streams"))
async def operation_show(
    project_id: ProjectId,
    operation_id: OperationId,
    call: Annotated[Call, admitted("operation_show")],
    wait: ChangeWait = 0,
    newer_than: NewerThan = 0,
) -> Response:
    """To follow it, say which generation you know, and how long you would wait for the next."""
    who = call.admission
    place = (project_id, operation_id)
    async with call.waiting(wait):
        return reply(await following.operation_follow(call.platform, who.scope, who.caller, *place, newer_than, wait))


@router.post(f"{PATH}/{{operation_id}}/cancel", response_model=Operation, responses=problem_responses("conflict"))
async def operation_cancel(
    project_id: ProjectId,
    operation_id: OperationId,
    body: OperationCancel,
    call: Annotated[Call, admitted_change("operation_cancel")],
) -> Response:
    """Pending: it ends now. Otherwise its controller is asked to stop; follow the operation."""
    return await call.change(
        lambda tx: service.operation_cancel(tx, call.caller, project_id, operation_id, body.reason)
    )


@router.post(f"{PATH}/{{operation_id}}/force", response_model=Operation, responses=problem_responses("conflict"))
async def operation_force(
    project_id: ProjectId,
    operation_id: OperationId,
    body: OperationForce,
    call: Annotated[Call, admitted_change("operation_force")],
) -> Response:
    """End one that is stuck, or accept a teardown that is not proven: recorded as *not verified* for ever."""
    return await call.change(lambda tx: service.operation_force(tx, call.caller, project_id, operation_id, body.reason))


@router.get(
    "/projects/{project_id}/controller/work", response_model=WorkList, responses=problem_responses("too_many_streams")
)
async def controller_work(
    project_id: ProjectId, call: Annotated[Call, admitted("controller_work")], wait: Wait = 0
) -> Response:
    """Operations of the apps that this service account is bound to and that nobody works on, oldest first."""
    admission = call.admission
    async with call.waiting(wait):
        return reply(
            await controller.controller_work(call.platform, admission.scope, admission.caller, project_id, wait)
        )


@router.post(
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
    """The right to work on it, for as long as you report. Nobody else gets it until the lease lapses."""
    return await call.change(
        lambda tx: controller.operation_claim(tx, _limits(call), call.caller, project_id, operation_id, body)
    )


@router.post(f"{PATH}/{{operation_id}}/report", response_model=LeaseRenewed, responses=problem_responses(*_LEASE))
async def operation_report(
    project_id: ProjectId,
    operation_id: OperationId,
    body: OperationReport,
    call: Annotated[Call, admitted_change("operation_report")],
) -> Response:
    """Steps and progress. Each report renews the lease, an empty one too."""
    caller = call.caller
    return await call.change(
        lambda tx: controller.operation_report(tx, _limits(call), caller, project_id, operation_id, body)
    )


@router.post(
    f"{PATH}/{{operation_id}}/complete",
    response_model=Operation,
    responses=problem_responses(*_LEASE, "document_too_large", "document_invalid"),
)
async def operation_complete(
    project_id: ProjectId,
    operation_id: OperationId,
    body: OperationComplete,
    call: Annotated[Call, admitted_change("operation_complete")],
) -> Response:
    """Done. After a teardown the operation stays running until the hosts are proven clean."""
    return await call.change(
        lambda tx: controller.operation_complete(tx, _limits(call), call.caller, project_id, operation_id, body)
    )


@router.post(
    f"{PATH}/{{operation_id}}/fail",
    response_model=Operation,
    responses=problem_responses(*_LEASE, "document_too_large", "document_invalid"),
)
async def operation_fail(
    project_id: ProjectId,
    operation_id: OperationId,
    body: OperationFail,
    call: Annotated[Call, admitted_change("operation_fail")],
) -> Response:
    """It did not work: say why, and what to do next. After a request to cancel, it ends as `cancelled`."""
    return await call.change(lambda tx: controller.operation_fail(tx, call.caller, project_id, operation_id, body))


@router.post(f"{PATH}/{{operation_id}}/give-back", response_model=Operation, responses=problem_responses(*_LEASE))
async def operation_give_back(
    project_id: ProjectId,
    operation_id: OperationId,
    body: OperationGiveBack,
    call: Annotated[Call, admitted_change("operation_give_back")],
) -> Response:
    """For a replica that ends: another one resumes at once."""
    return await call.change(
        lambda tx: controller.operation_give_back(tx, call.caller, project_id, operation_id, body.lease_token)
    )


def _limits(call: Call) -> Limits:
    return Limits.of(call.platform.settings)
