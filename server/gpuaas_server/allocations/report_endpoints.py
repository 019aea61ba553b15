"""Reports that a host is broken, over HTTP."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from gpuaas_server.allocations import reports
from gpuaas_server.allocations.schemas import HostReport, HostReportClear, HostReportCreate
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import AllocationId, HostReportId, NodeId, ProjectId

router = api_router(tags=["allocations"])


@router.post(
    "/projects/{project_id}/allocations/{allocation_id}/host-reports",
    status_code=201,
    response_model=HostReport,
    responses=problem_responses("conflict", "already_exists", "too_many_host_reports"),
)
async def host_report_create(
    project_id: ProjectId,
    allocation_id: AllocationId,
    body: HostReportCreate,
    call: Annotated[Call, admitted_change("host_report_create")],
) -> Response:
    """Report the host of an allocation as broken. After its release, operators examine it before it is allocated again."""
    most = call.platform.settings.host_reports_per_tenant
    return await call.change(
        lambda tx: reports.host_report_create(tx, project_id, allocation_id, body, most), status=201
    )


@router.get("/host-reports", response_model=Page[HostReport], responses=problem_responses())
async def host_report_list(
    call: Annotated[Call, admitted("host_report_list")],
    page: PageQuery,
    node_id: Annotated[NodeId | None, Query(description="Only reports of this node.")] = None,
    cleared: Annotated[bool | None, Query(description="True: only cleared reports. False: only open ones.")] = None,
) -> Response:
    """List the hosts that tenants reported as broken, newest first."""
    caller = call.caller
    return await call.read(lambda c: reports.host_report_list(c, caller, node_id, cleared, page))


@router.post("/host-reports/{host_report_id}/clear", response_model=HostReport, responses=problem_responses("conflict"))
async def host_report_clear(
    host_report_id: HostReportId,
    body: HostReportClear,
    call: Annotated[Call, admitted_change("host_report_clear")],
) -> Response:
    """Clear the report of a broken host after looking at it. GPUs that the report kept out of the pool return to it."""
    caller = call.caller
    return await call.change(lambda tx: reports.host_report_clear(tx, caller, host_report_id, body))
