"""HTTP of the agent protocol. Polls, heartbeats and reports of tasks are hot, see DIRECT_ROUTES."""

import re
from collections.abc import Awaitable, Callable
from typing import Annotated

import orjson
from fastapi import Request
from pydantic import BaseModel
from starlette.responses import Response

from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.call import Call, admitted, reply
from gpuaas_server.kernel.http.direct import DirectBodyRoute, DirectRoute
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import TaskId, id_pattern
from gpuaas_server.nodes import (
    agent_calls,
    enrolment,
    facts,
    host_certificates,
    inventory,
    node_keys,
    signatures,
)
from gpuaas_server.nodes.agent_schemas import (
    Acknowledged,
    AgentCa,
    AgentHeartbeat,
    Enrol,
    Enrolled,
    HostCertificate,
    HostCertificateRequest,
    Inventory,
    NodeKey,
    NodeKeyRotate,
    PlatformTrust,
    TaskBatch,
    TaskProgress,
    TaskResult,
)
from gpuaas_server.nodes.gate import AgentGate, key_generation, signed_by_key
from gpuaas_server.nodes.schemas import SIGNED_CALL_PROBLEMS
from gpuaas_server.pki import service as pki

router = api_router(prefix="/agent", tags=["agent"])

_WAIT = re.compile("[0-9]{1,2}")
_HAVE = re.compile("(tsk_[0-9a-z]{26}(,tsk_[0-9a-z]{26}){0,199})?")
_POLL_PARAMETERS = [
    {
        "name": "wait",
        "in": "query",
        "description": "Seconds to wait for the first task; the platform may answer earlier.",
        "schema": {"type": "integer", "minimum": 0, "maximum": 60, "default": 0},
    },
    {
        "name": "have",
        "in": "query",
        "description": "Task ids, separated by commas, that the agent is working on already.",
        "schema": {"type": "string", "pattern": f"^{_HAVE.pattern}$"},
    },
]


async def _change(call: Call, verb: Callable[[Tx], Awaitable[BaseModel | None]]) -> BaseModel | None:
    """Run the change in one transaction in the node's name. A signed call has a nonce, and a result a digest, for repeats."""
    async with call.platform.transaction(call.admission.scope, call.actor) as tx:
        return await verb(tx)


@router.get("/ca", response_model=AgentCa, responses=problem_responses())
async def agent_ca(request: Request) -> Response:
    """Show the platform's TLS CA certificates. The enrolment bundle names the one to expect."""
    anchors = await pki.trusted_pems(request.app.state.platform)
    return reply(AgentCa(ca_pem=anchors[-1], anchors=anchors))


@router.post(
    "/enrol",
    response_model=Enrolled,
    responses=problem_responses(
        "enrolment_token_invalid", "enrolment_token_used", "address_taken", *SIGNED_CALL_PROBLEMS
    ),
)
async def agent_enrol(body: Enrol, call: Annotated[Call, admitted("agent_enrol")]) -> Response:
    """Enrol a node with an enrolment token. The same token with the same key returns the same node."""
    trust = await _gate(call.request).heartbeats.trust()
    nonce = signatures.read_authorization(call.request.headers["authorization"]).nonce
    async with call.platform.transaction(call.admission.scope, call.actor) as tx:
        node_id = await enrolment.node_enrol(tx, body, nonce, call.platform.settings)
        key = await node_keys.current_key(tx.connection, node_id)
    wait = facts.poll_wait_seconds(call.platform.settings.node_lost_seconds)
    return reply(Enrolled(node_id=node_id, poll_wait_seconds=wait, **dict(key), **dict(trust)))


@router.post("/heartbeat", response_model=PlatformTrust, responses=problem_responses(*SIGNED_CALL_PROBLEMS))
async def agent_heartbeat(body: AgentHeartbeat, call: Annotated[Call, admitted("agent_heartbeat")]) -> Response:
    """Report that the agent is alive, and what it runs. The answer renews the keys and authorities that the agent trusts."""
    heartbeats = _gate(call.request).heartbeats
    if heartbeats.is_news(call.actor.id, body):
        has_moved = heartbeats.has_moved(call.actor.id, body)
        await _change(call, lambda tx: agent_calls.heartbeat(tx, call.actor.id, body, has_moved))
        heartbeats.remember(call.actor.id, body)
    return reply(await heartbeats.trust())


@router.post("/key", response_model=NodeKey, responses=problem_responses(*SIGNED_CALL_PROBLEMS))
async def agent_key_rotate(body: NodeKeyRotate, call: Annotated[Call, admitted("agent_key_rotate")]) -> Response:
    """Replace the node's key. The current key signs this call and is refused afterwards; a repetition is signed with the new
    key.
    """
    signed_by = await signed_by_key(call.request)
    life = node_keys.key_life(call.platform.settings)
    async with call.platform.transaction(call.admission.scope, call.actor) as tx:
        made = await node_keys.node_key_rotate(tx, call.actor.id, body, life, signed_by)
    _gate(call.request).forget_keys(call.actor.id)
    return reply(made)


@router.post(
    "/inventory", response_model=Acknowledged, responses=problem_responses("inventory_invalid", *SIGNED_CALL_PROBLEMS)
)
async def agent_inventory(body: Inventory, call: Annotated[Call, admitted("agent_inventory")]) -> Response:
    """Report the whole inventory of the host. Nothing can be allocated until an administrator approves the slots."""
    await _change(call, lambda tx: inventory.inventory_store(tx, call.actor.id, body))
    return _acknowledged(call)


@router.get(
    "/tasks",
    response_model=TaskBatch,
    responses=problem_responses(*SIGNED_CALL_PROBLEMS),
    openapi_extra={"parameters": _POLL_PARAMETERS},
)
async def agent_task_poll(request: Request) -> Response:
    """Wait for tasks of this node that the agent does not have yet."""
    admission = await request.app.state.gate.admit(request, "agent_task_poll")
    wait, have = _poll_parameters(request)
    gate, clock = _gate(request), request.app.state.platform.clock
    begun_at = clock()
    found = await gate.inbox.poll(admission.actor.id, key_generation(request), wait, have)
    if found is None:
        await gate.prove_again(request, begun_at)
    gate.liveness.record_heartbeat(admission.actor.id)
    return Response(orjson.dumps({"server_time": clock(), "tasks": found or []}), media_type="application/json")


def _gate(request: Request) -> AgentGate:
    gate: AgentGate = request.app.state.agent_gate
    return gate


def _poll_parameters(request: Request) -> tuple[int, frozenset[str]]:
    wait, have = request.query_params.get("wait", "0"), request.query_params.get("have", "")
    if not _WAIT.fullmatch(wait) or int(wait) > 60:
        raise Problem("invalid_request", "wait: a whole number of seconds, 0 to 60.")
    if not _HAVE.fullmatch(have):
        raise Problem("invalid_request", "have: at most 200 task ids, separated by commas.")
    return int(wait), frozenset(have.split(",")) if have else frozenset()


@router.post(
    "/tasks/{task_id}/progress",
    response_model=Acknowledged,
    responses=problem_responses("task_not_found", "stale_generation", *SIGNED_CALL_PROBLEMS),
)
async def agent_task_progress(
    task_id: TaskId, body: TaskProgress, call: Annotated[Call, admitted("agent_task_progress")]
) -> Response:
    """Report the phases of a running task. A report of an older generation is refused."""
    phases = agent_calls.phase_documents(body.phases)
    await _change(call, lambda tx: host_tasks.progress_store(tx, call.actor.id, task_id, body.generation, phases))
    return _acknowledged(call)


@router.post(
    "/tasks/{task_id}/result",
    response_model=Acknowledged,
    responses=problem_responses("task_not_found", "stale_generation", "task_already_reported", *SIGNED_CALL_PROBLEMS),
)
async def agent_task_result(
    task_id: TaskId, body: TaskResult, call: Annotated[Call, admitted("agent_task_result")]
) -> Response:
    """Report the result of a task. The same report twice is accepted twice and counted once."""
    signed_by = key_generation(call.request)
    await _change(call, lambda tx: agent_calls.task_result(tx, call.actor.id, task_id, body, signed_by))
    return _acknowledged(call)


@router.post(
    "/host-certificates",
    response_model=HostCertificate,
    responses=problem_responses("ssh_key_refused", *SIGNED_CALL_PROBLEMS),
)
async def agent_host_certificate(
    body: HostCertificateRequest, call: Annotated[Call, admitted("agent_host_certificate")]
) -> Response:
    """Sign an SSH host certificate. It is for an allocation that is claimed on this node, or (null) for the node's own sshd."""
    wanted = host_certificates.NewHostCertificate(call.actor.id, body.allocation_id, body.public_key, body.address)
    signed = await host_certificates.host_certificate_create(call.platform, call.actor, wanted)
    return reply(HostCertificate(certificate=signed.certificate, valid_before=signed.valid_before))


# The same functions without the framework around them: at ten thousand agents, the frames of a waiting call are most of what
# the process holds, and the framework costs more than the poll. The documented routes above are their descriptions.
_TASK = {"task_id": id_pattern("tsk")}
DIRECT_ROUTES = (
    DirectRoute("GET", "/api/v1/agent/tasks", agent_task_poll),
    DirectBodyRoute("POST", "/agent/tasks/{task_id}/result", agent_task_result, TaskResult, _TASK),
    DirectBodyRoute("POST", "/agent/tasks/{task_id}/progress", agent_task_progress, TaskProgress, _TASK),
    DirectBodyRoute("POST", "/agent/heartbeat", agent_heartbeat, AgentHeartbeat),
)


def _acknowledged(call: Call) -> Response:
    return reply(Acknowledged(server_time=call.platform.clock()))
