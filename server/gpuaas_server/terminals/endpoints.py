"""Terminals over HTTP: asked for, listed, closed. The streams are in streams.py."""

from typing import Annotated

from starlette.responses import Response

from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import add_routes, api_router
from gpuaas_server.kernel.ids import AllocationId, ProjectId, TerminalId
from gpuaas_server.terminals import service, streams
from gpuaas_server.terminals.schemas import Terminal, TerminalOpen

router = api_router(tags=["terminals"])
add_routes(router, streams.router)
PATH = streams.PATH


@router.post(
    PATH, status_code=201, response_model=Terminal, responses=problem_responses("not_active", "too_many_terminals")
)
async def terminal_open(
    project_id: ProjectId,
    allocation_id: AllocationId,
    body: TerminalOpen,
    call: Annotated[Call, admitted_change("terminal_open")],
) -> Response:
    """Request a shell in the allocation. Then connect a WebSocket to `stream` within seconds."""
    return await call.change(
        lambda tx: service.terminal_open(tx, call.caller, allocation_id, body, call.platform.settings),
        status=201,
    )


@router.get(PATH, response_model=Page[Terminal], responses=problem_responses())
async def terminal_list(
    project_id: ProjectId,
    allocation_id: AllocationId,
    call: Annotated[Call, admitted("terminal_list")],
    page: PageQuery,
) -> Response:
    """List the terminals of the allocation, newest first, with ended ones. What was typed is not stored."""
    return await call.read(lambda c: service.terminal_list(c, call.caller, call.actor, allocation_id, page))


@router.post(f"{PATH}/{{terminal_id}}/close", response_model=Terminal, responses=problem_responses())
async def terminal_close(
    project_id: ProjectId,
    allocation_id: AllocationId,
    terminal_id: TerminalId,
    call: Annotated[Call, admitted_change("terminal_close")],
) -> Response:
    """Close a terminal: your own, or anyone's if you administer the project. It can be repeated."""
    return await call.change(lambda tx: service.terminal_close(tx, call.caller, allocation_id, terminal_id))
