"""Allocations over HTTP."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from gpuaas_server.allocations import creation, replacement, service
from gpuaas_server.allocations.facts import allocation_topology as topology_of
from gpuaas_server.allocations.schemas import (
    Allocation,
    AllocationBatch,
    AllocationCreate,
    AllocationRelease,
    AllocationState,
    ForceCleanup,
    Timeline,
    Topology,
)
from gpuaas_server.allocations.timeline import allocation_timeline as timeline_of
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import AllocationId, NodeId, ProjectId

router = api_router(tags=["allocations"])
PATH = "/projects/{project_id}/allocations"
State = Annotated[AllocationState | None, Query(description="Only allocations in this state.")]


@router.post(
    PATH,
    status_code=201,
    response_model=AllocationBatch,
    responses=problem_responses(
        "sku_not_offered",
        "no_capacity",
        "capacity_fragmented",
        "capacity_blocked",
        "capacity_below_grade",
        "capacity_drives_not_erased",
        "quota_exceeded",
        "unproven_releases",
    ),
)
async def allocation_create(
    project_id: ProjectId, body: AllocationCreate, call: Annotated[Call, admitted_change("allocation_create")]
) -> Response:
    """Create one or more allocations of GPUs. The GPUs are claimed now; provisioning follows (watch the events or the
    timeline).
    """
    settings = call.platform.settings
    return await call.change(
        lambda tx: creation.allocation_create(tx, settings, call.caller, body),
        status=201,
        verb_checks_replay=True,
        changes=body.count,
    )


@router.get(PATH, response_model=Page[Allocation], responses=problem_responses())
async def allocation_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("allocation_list")],
    page: PageQuery,
    state: State = None,
) -> Response:
    """List the allocations of the project, newest first, with ended ones. `state` filters."""
    return await call.read(lambda c: service.allocation_list(c, call.caller, project_id, state, None, page))


@router.get("/allocations", response_model=Page[Allocation], responses=problem_responses())
async def allocation_list_all(
    call: Annotated[Call, admitted("allocation_list_all")],
    page: PageQuery,
    state: State = None,
    node_id: Annotated[NodeId | None, Query(description="Only allocations on this node.")] = None,
) -> Response:
    """List the allocations of all projects, for operators."""
    return await call.read(lambda c: service.allocation_list(c, call.caller, None, state, node_id, page))


@router.get(f"{PATH}/{{allocation_id}}", response_model=Allocation, responses=problem_responses())
async def allocation_show(
    project_id: ProjectId, allocation_id: AllocationId, call: Annotated[Call, admitted("allocation_show")]
) -> Response:
    """Show an allocation: its state, how to log in once it is active, and why it failed if it did."""
    return await call.read(lambda c: service.allocation_show(c, call.caller, allocation_id))


@router.get(f"{PATH}/{{allocation_id}}/timeline", response_model=Timeline, responses=problem_responses())
async def allocation_timeline(
    project_id: ProjectId, allocation_id: AllocationId, call: Annotated[Call, admitted("allocation_timeline")]
) -> Response:
    """Show every state of the allocation and every phase on its host, with times, failures and the evidence of the wipe."""
    return await call.read(lambda c: timeline_of(c, project_id, allocation_id))


@router.get(f"{PATH}/{{allocation_id}}/topology", response_model=Topology, responses=problem_responses())
async def allocation_topology(
    project_id: ProjectId, allocation_id: AllocationId, call: Annotated[Call, admitted("allocation_topology")]
) -> Response:
    """Show the GPUs of the allocation's host, their links, and which of them the allocation has (or had until it ended)."""
    return await call.read(lambda c: topology_of(c, project_id, allocation_id))


@router.post(f"{PATH}/{{allocation_id}}/release", response_model=Allocation, responses=problem_responses("conflict"))
async def allocation_release(
    project_id: ProjectId,
    allocation_id: AllocationId,
    body: AllocationRelease,
    call: Annotated[Call, admitted_change("allocation_release")],
) -> Response:
    """Request the release of an allocation: its access ends, then its GPUs are wiped, then the wipe is proven. It can be
    repeated.
    """
    return await call.change(lambda tx: service.allocation_release(tx, call.caller, allocation_id, body.reason))


@router.post(
    f"{PATH}/{{allocation_id}}/replace",
    status_code=201,
    response_model=Allocation,
    responses=problem_responses(
        "conflict",
        "sku_not_offered",
        "no_capacity",
        "capacity_fragmented",
        "capacity_blocked",
        "capacity_below_grade",
        "capacity_drives_not_erased",
        "quota_exceeded",
    ),
)
async def allocation_replace(
    project_id: ProjectId,
    allocation_id: AllocationId,
    body: AllocationRelease,
    call: Annotated[Call, admitted_change("allocation_replace")],
) -> Response:
    """Claim the same GPUs on another host and release this allocation, both or neither. The answer is the new allocation."""
    settings = call.platform.settings
    return await call.change(
        lambda tx: replacement.allocation_replace(tx, settings, call.caller, allocation_id, body),
        status=201,
    )


@router.post(
    f"{PATH}/{{allocation_id}}/retry-release", response_model=Allocation, responses=problem_responses("conflict")
)
async def allocation_retry_release(
    project_id: ProjectId,
    allocation_id: AllocationId,
    call: Annotated[Call, admitted_change("allocation_retry_release")],
) -> Response:
    """Retry a release that failed: deprovision, wipe and verification start again from the beginning."""
    return await call.change(lambda tx: service.allocation_retry_release(tx, call.caller, allocation_id))


@router.post(
    f"{PATH}/{{allocation_id}}/force-cleanup", response_model=Allocation, responses=problem_responses("conflict")
)
async def allocation_force_cleanup(
    project_id: ProjectId,
    allocation_id: AllocationId,
    body: ForceCleanup,
    call: Annotated[Call, admitted_change("allocation_force_cleanup")],
) -> Response:
    """Return slots whose wipe is not proven to the pool. A person takes responsibility; the record says *not verified*
    permanently.
    """
    return await call.change(lambda tx: service.allocation_force_cleanup(tx, call.caller, allocation_id, body))
