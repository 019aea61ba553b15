"""Operations over HTTP, as people and controllers read them. What changes them is in instances/operation_endpoints.py."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from gpuaas_server.kernel.http.call import Call, admitted, reply
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import InstanceId, OperationId, ProjectId
from gpuaas_server.operations import service
from gpuaas_server.operations.schemas import Operation, OperationStatus

router = api_router(tags=["operations"])
PATH = "/projects/{project_id}/operations"
ChangeWait = Annotated[int, Query(ge=0, le=60, description="Seconds to wait for a newer generation.")]
NewerThan = Annotated[
    int,
    Query(
        ge=0,
        le=2**63 - 1,
        description="The generation that you know. An operation that has ended is returned immediately.",
    ),
]


@router.get(PATH, response_model=Page[Operation], responses=problem_responses())
async def operation_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("operation_list")],
    page: PageQuery,
    instance_id: Annotated[InstanceId | None, Query(description="Only operations of this instance.")] = None,
    parent_id: Annotated[
        OperationId | None, Query(description="Only member operations of this bulk operation.")
    ] = None,
    status: Annotated[OperationStatus | None, Query(description="Only operations in this status.")] = None,
) -> Response:
    """List the operations of the project, newest first. Filter by instance, by bulk operation or by status."""
    caller = call.caller
    return await call.read(
        lambda c: service.operation_list(c, caller, project_id, instance_id, parent_id, status, page)
    )


@router.get("/operations", response_model=Page[Operation], responses=problem_responses())
async def operation_list_all(
    call: Annotated[Call, admitted("operation_list_all")],
    page: PageQuery,
    status: Annotated[OperationStatus | None, Query(description="Only operations in this status.")] = None,
) -> Response:
    """List the operations of all projects, newest first, for operators. `status` filters."""
    caller = call.caller
    return await call.read(lambda c: service.operation_list(c, caller, None, None, None, status, page))


@router.get(f"{PATH}/{{operation_id}}", response_model=Operation, responses=problem_responses("too_many_streams"))
async def operation_show(
    project_id: ProjectId,
    operation_id: OperationId,
    call: Annotated[Call, admitted("operation_show")],
    wait: ChangeWait = 0,
    newer_than: NewerThan = 0,
) -> Response:
    """Show an operation. To follow it, send the generation that you know and how long to wait for a newer one."""
    platform, scope, caller = call.platform, call.admission.scope, call.caller
    async with call.waiting(wait):
        return reply(await service.operation_follow(platform, scope, caller, operation_id, newer_than, wait))
