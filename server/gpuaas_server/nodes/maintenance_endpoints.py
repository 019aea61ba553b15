"""Planned maintenance of nodes, over HTTP."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import MaintenanceWindowId, NodeId
from gpuaas_server.nodes import maintenance
from gpuaas_server.nodes.schemas import MaintenanceWindow, MaintenanceWindowPlan, NodeReason, WindowState

router = api_router(tags=["nodes"])
_CHANGE = ("conflict", "idempotency_mismatch", "idempotency_in_progress")


@router.post(
    "/nodes/{node_id}/maintenance-windows",
    status_code=201,
    response_model=MaintenanceWindow,
    responses=problem_responses("already_exists", *_CHANGE),
)
async def maintenance_window_plan(
    node_id: NodeId, body: MaintenanceWindowPlan, call: Annotated[Call, admitted_change("maintenance_window_plan")]
) -> Response:
    """Announce maintenance of a host to the projects on it. The host is cordoned when it begins and takes allocations again
    after it.
    """
    caller = call.caller
    return await call.change(lambda tx: maintenance.window_plan(tx, caller, node_id, body), status=201)


@router.get("/maintenance-windows", response_model=Page[MaintenanceWindow], responses=problem_responses())
async def maintenance_window_list(
    call: Annotated[Call, admitted("maintenance_window_list")],
    page: PageQuery,
    node_id: Annotated[NodeId | None, Query(description="Only windows of this node.")] = None,
    state: Annotated[WindowState | None, Query(description="Only windows in this state.")] = None,
) -> Response:
    """List the maintenance windows of hosts, newest first: planned, active and ended."""
    caller = call.caller
    return await call.read(lambda c: maintenance.window_list(c, caller, node_id, state, page))


@router.post(
    "/maintenance-windows/{maintenance_window_id}/cancel",
    response_model=MaintenanceWindow,
    responses=problem_responses(*_CHANGE),
)
async def maintenance_window_cancel(
    maintenance_window_id: MaintenanceWindowId,
    body: NodeReason,
    call: Annotated[Call, admitted_change("maintenance_window_cancel")],
) -> Response:
    """Cancel a maintenance window that has not begun. The projects are notified, and a cordon that the window made ends."""
    caller = call.caller
    return await call.change(lambda tx: maintenance.window_cancel(tx, caller, maintenance_window_id, body.reason))


@router.post(
    "/maintenance-windows/{maintenance_window_id}/end",
    response_model=MaintenanceWindow,
    responses=problem_responses(*_CHANGE),
)
async def maintenance_window_end(
    maintenance_window_id: MaintenanceWindowId, call: Annotated[Call, admitted_change("maintenance_window_end")]
) -> Response:
    """End a maintenance window early. The host takes allocations again, unless it is cordoned for another reason."""
    caller = call.caller
    return await call.change(lambda tx: maintenance.window_end(tx, caller, maintenance_window_id))
