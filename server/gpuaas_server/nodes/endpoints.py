"""Nodes, their tasks and enrolment tokens, for operators and administrators."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from gpuaas_server.capacity.schemas import SlotStatus
from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.host_tasks.schemas import Task
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import EnrolmentTokenId, NodeId, TaskId
from gpuaas_server.nodes import enrolment, node_keys, service
from gpuaas_server.nodes.schemas import (
    EnrolmentToken,
    EnrolmentTokenCreate,
    EnrolmentTokenCreated,
    Node,
    NodeDrain,
    NodeReason,
    NodeSlots,
    NodeStatus,
    NodeUpdate,
)
from gpuaas_server.pki import service as pki

router = api_router(tags=["nodes"])
_CHANGE = ("conflict", "idempotency_mismatch", "idempotency_in_progress")


async def _change(call: Call, node_id: str, verb: Callable[[Tx], Awaitable[object]]) -> Response:
    """Run the verb and answer with the node as it is then."""

    async def change(tx: Tx) -> Node:
        await verb(tx)
        return await service.node_show(tx.connection, call.caller, node_id)

    return await call.change(change)


@router.post(
    "/enrolment-tokens", status_code=201, response_model=EnrolmentTokenCreated, responses=problem_responses(*_CHANGE)
)
async def enrolment_token_create(
    body: EnrolmentTokenCreate, call: Annotated[Call, admitted_change("enrolment_token_create")]
) -> Response:
    """Create an enrolment bundle for new hosts. It is shown once."""
    urls = call.platform.settings.agent_urls
    pinned = any(url.startswith("https://") for url in urls)
    digest = await pki.pinned_digest(call.platform) if pinned else None
    return await call.change(lambda tx: enrolment.enrolment_token_create(tx, body, urls, digest), status=201)


@router.get("/enrolment-tokens", response_model=Page[EnrolmentToken], responses=problem_responses())
async def enrolment_token_list(
    call: Annotated[Call, admitted("enrolment_token_list")],
    page: PageQuery,
) -> Response:
    """List the enrolment tokens, newest first, with their uses and their expiry."""
    return await call.read(lambda connection: enrolment.enrolment_token_list(connection, page))


@router.delete("/enrolment-tokens/{token_id}", status_code=204, responses=problem_responses(*_CHANGE))
async def enrolment_token_revoke(
    token_id: EnrolmentTokenId, call: Annotated[Call, admitted_change("enrolment_token_revoke")]
) -> Response:
    """Revoke an enrolment token. No further host can enrol with it; hosts that have enrolled stay."""
    return await call.change(lambda tx: enrolment.enrolment_token_revoke(tx, token_id))


@router.get("/nodes", response_model=Page[Node], responses=problem_responses())
async def node_list(
    call: Annotated[Call, admitted("node_list")],
    page: PageQuery,
    status: Annotated[NodeStatus | None, Query(description="Only nodes in this status.")] = None,
) -> Response:
    """List the hosts of the platform, newest first, with retired ones. `status` filters."""
    caller = call.caller
    return await call.read(lambda connection: service.node_list(connection, caller, status, page))


@router.get("/slot-map", response_model=Page[NodeSlots], responses=problem_responses())
async def slot_map(
    call: Annotated[Call, admitted("slot_map")],
    page: PageQuery,
    status: Annotated[SlotStatus | None, Query(description="Only nodes with a slot in this status.")] = None,
) -> Response:
    """List every node with the status of each GPU and the allocation that has it. For a map of the fleet."""
    return await call.read(lambda connection: service.slot_map(connection, status, page))


@router.get("/nodes/{node_id}", response_model=Node, responses=problem_responses())
async def node_show(node_id: NodeId, call: Annotated[Call, admitted("node_show")]) -> Response:
    """Show a host: whether it is alive, what is on it, and whether it takes new allocations."""
    return await call.read(lambda connection: service.node_show(connection, call.caller, node_id))


@router.patch(
    "/nodes/{node_id}",
    response_model=Node,
    responses=problem_responses("already_exists", "address_taken", "precondition_failed", *_CHANGE),
)
async def node_update(
    node_id: NodeId, body: NodeUpdate, call: Annotated[Call, admitted_change("node_update")]
) -> Response:
    """Change the name, the address or the labels of a node. No other node may have the address; labels replace all others."""

    async def update(tx: Tx) -> None:
        row = await service.node_lock(tx, node_id, "node_update")
        call.require_match(row.generation)
        await service.node_update(tx, node_id, row, body)

    return await _change(call, node_id, update)


@router.post("/nodes/{node_id}/cordon", response_model=Node, responses=problem_responses(*_CHANGE))
async def node_cordon(
    node_id: NodeId, body: NodeReason, call: Annotated[Call, admitted_change("node_cordon")]
) -> Response:
    """Cordon a node: it takes no new allocation, and its allocations continue."""
    return await _change(call, node_id, lambda tx: service.node_cordon(tx, node_id, body.reason))


@router.post("/nodes/{node_id}/key/approve", response_model=Node, responses=problem_responses(*_CHANGE))
async def node_key_approve(
    node_id: NodeId, body: NodeReason, call: Annotated[Call, admitted_change("node_key_approve")]
) -> Response:
    """Approve the expired key of a node whose agent was offline. The key is valid for one day, in which the agent renews it."""

    async def approve(tx: Tx) -> None:
        await service.node_lock(tx, node_id, "node_key_approve")
        await node_keys.node_key_approve(tx, node_id, body.reason)

    return await _change(call, node_id, approve)


@router.post("/nodes/{node_id}/uncordon", response_model=Node, responses=problem_responses(*_CHANGE))
async def node_uncordon(node_id: NodeId, call: Annotated[Call, admitted_change("node_uncordon")]) -> Response:
    """Let a node take new allocations again, if it is alive. This ends a drain too, and cancels a planned one."""
    return await _change(call, node_id, lambda tx: service.node_uncordon(tx, node_id))


@router.post("/nodes/{node_id}/drain", response_model=Node, responses=problem_responses(*_CHANGE))
async def node_drain(
    node_id: NodeId, body: NodeDrain, call: Annotated[Call, admitted_change("node_drain")]
) -> Response:
    """Cordon a node, notify its projects, and release its allocations after the notice. `drained` is true when nothing is
    claimed on it any more. Drain it again to move the time; uncordon it to cancel.
    """
    notice = timedelta(seconds=call.platform.settings.drain_notice_seconds)
    return await _change(call, node_id, lambda tx: service.node_drain(tx, node_id, body, notice))


@router.post("/nodes/{node_id}/retire", response_model=Node, responses=problem_responses("node_busy", *_CHANGE))
async def node_retire(
    node_id: NodeId, body: NodeReason, call: Annotated[Call, admitted_change("node_retire")]
) -> Response:
    """Retire a node without live claims, permanently. Its agent's key is refused from then on."""
    return await _change(call, node_id, lambda tx: service.node_retire(tx, node_id, body.reason))


@router.post("/nodes/{node_id}/discover", response_model=Task, responses=problem_responses(*_CHANGE))
async def node_discover(node_id: NodeId, call: Annotated[Call, admitted_change("node_discover")]) -> Response:
    """Have the agent examine its hardware again. The answer is the task to watch."""

    async def discover(tx: Tx) -> Task:
        return await host_tasks.task_show(tx.connection, await service.node_discover(tx, node_id))

    return await call.change(discover)


@router.get("/nodes/{node_id}/tasks", response_model=Page[Task], responses=problem_responses())
async def node_task_list(
    node_id: NodeId,
    call: Annotated[Call, admitted("node_task_list")],
    page: PageQuery,
) -> Response:
    """List the tasks of a host, newest first, with what the host reported."""
    return await call.read(lambda connection: service.task_list(connection, node_id, page))


@router.get("/tasks/{task_id}", response_model=Task, responses=problem_responses())
async def task_show(task_id: TaskId, call: Annotated[Call, admitted("task_show")]) -> Response:
    """Show a host task: its specification, its phases, and the evidence."""
    return await call.read(lambda connection: host_tasks.task_show(connection, task_id))
