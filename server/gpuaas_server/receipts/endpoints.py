"""Teardown receipts over HTTP: to be read, never to be written."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from gpuaas_server.kernel.http.call import Call, admitted
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import AllocationId, InstanceId, OperationId, ProjectId, ReceiptId
from gpuaas_server.receipts import service
from gpuaas_server.receipts.schemas import Receipt, ReceiptLine, ReceiptStatus
from gpuaas_server.receipts.service import ReceiptFilter

router = api_router(tags=["receipts"])
PATH = "/projects/{project_id}/receipts"


@router.get(PATH, response_model=Page[ReceiptLine], responses=problem_responses())
async def receipt_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("receipt_list")],
    page: PageQuery,
    instance_id: Annotated[InstanceId | None, Query(description="Only receipts of this instance.")] = None,
    operation_id: Annotated[OperationId | None, Query(description="Only receipts of this operation.")] = None,
    allocation_id: Annotated[AllocationId | None, Query(description="Only receipts of this allocation.")] = None,
    status: Annotated[ReceiptStatus | None, Query(description="Only receipts in this status.")] = None,
) -> Response:
    """List the teardown receipts, newest first, also those of decommissioned instances."""
    caller = call.caller
    wanted = ReceiptFilter(instance_id, operation_id, allocation_id, status)
    return await call.read(lambda c: service.receipt_list(c, caller, project_id, wanted, page))


@router.get("/receipts", response_model=Page[ReceiptLine], responses=problem_responses())
async def receipt_list_all(
    call: Annotated[Call, admitted("receipt_list_all")],
    page: PageQuery,
    status: Annotated[ReceiptStatus | None, Query(description="Only receipts in this status.")] = None,
) -> Response:
    """List the receipts of all projects, newest first, for operators. `status` filters."""
    caller = call.caller
    return await call.read(lambda c: service.receipt_list(c, caller, None, ReceiptFilter(status=status), page))


@router.get(f"{PATH}/{{receipt_id}}", response_model=Receipt, responses=problem_responses())
async def receipt_show(
    project_id: ProjectId, receipt_id: ReceiptId, call: Annotated[Call, admitted("receipt_show")]
) -> Response:
    """Show a teardown receipt: each check with its verdict, what was looked for, and what was found."""
    return await call.read(lambda c: service.receipt_show(c, call.caller, receipt_id))
