"""The two WebSockets of a terminal: the person's, and the one that the host's agent brings."""

import asyncio
from contextlib import suppress

from fastapi import WebSocket
from starlette.requests import HTTPConnection

from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.admissions import Admission, AdmittedAction
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.http.streams import StreamOwner
from gpuaas_server.terminals import holder_lease, viewer
from gpuaas_server.terminals.channels import ChannelClosed, WebSocketChannel
from gpuaas_server.terminals.relay import Relay
from gpuaas_server.terminals.relay_server import RelayServer

router = api_router()
PATH = "/projects/{project_id}/allocations/{allocation_id}/terminals"
HELLO_SECONDS = 10.0


class Handshake(HTTPConnection):
    """The opening request of a WebSocket, in the form that the gate needs: headers, path, a method, and no body.

    `method` is CONNECT unless the caller has signed another one. It never counts as a read: it opens access.
    """

    def __init__(self, socket: WebSocket, method: str = "CONNECT") -> None:
        super().__init__(socket.scope)
        self.method = method

    async def body(self) -> bytes:
        return b""


@router.websocket(f"{PATH}/{{terminal_id}}/stream")
async def terminal_stream(socket: WebSocket, project_id: str, allocation_id: str, terminal_id: str) -> None:
    """Stream a terminal to a bearer token, or to a session cookie from our pages. Refusals are problem documents."""
    platform, gate = socket.app.state.platform, socket.app.state.gate
    handshake = Handshake(socket)
    admission: Admission = await gate.admit(handshake, "terminal_stream")
    row = await viewer.terminal_to_watch(
        platform, admission.scope, admission.actor, project_id, allocation_id, terminal_id
    )

    async def still_there() -> bool:
        try:
            now: Admission = await gate.admit_again(handshake, "terminal_stream")
        except Problem as problem:
            return problem.kind.status not in (401, 403, 404)
        return await viewer.may_be_there(platform, now.scope, now.caller, now.actor, row)

    owner = StreamOwner(admission.actor.id, project_id, admission.caller.tenant_id)
    async with socket.app.state.streams.opened(owner, "terminal"):
        await socket.accept()
        await viewer.watch(platform, socket.app.state.terminals, row, WebSocketChannel(socket), still_there)


@router.websocket("/agent/terminals/{terminal_id}/stream")
async def agent_terminal_stream(socket: WebSocket, terminal_id: str) -> None:
    """Signed by the node like any call of its agent. The terminal is taken with the first message, which brings a key."""
    platform, relay_server = socket.app.state.platform, socket.app.state.terminals
    handshake, gate = Handshake(socket, "GET"), socket.app.state.gate
    admission: Admission = await gate.admit(handshake, "agent_terminal_stream")
    await socket.accept()
    channel = WebSocketChannel(socket)
    try:
        async with asyncio.timeout(HELLO_SECONDS):
            hello = await channel.receive()
        public_key = str(hello.get("public_key")) if isinstance(hello, dict) else ""
        by = holder_lease.AnsweringNode(admission.actor, socket.scope["state"]["node_key_generation"])
        taken = await holder_lease.terminal_take(platform, by, terminal_id, public_key, relay_server.address)
    except Problem as problem:
        await gate.refused(handshake, AdmittedAction("agent_terminal_stream", admission), problem)
        await _refuse(channel, problem)
        return
    except (ChannelClosed, TimeoutError):
        await channel.close()
        return
    await _run_relay(relay_server, Relay(platform, taken.row, channel), channel, taken)


async def _run_relay(
    relay_server: RelayServer, relay: Relay, channel: WebSocketChannel, taken: holder_lease.ClaimedTerminal
) -> None:
    row = taken.row
    relay_server.relays[row.id] = relay
    try:
        welcome: dict[str, object] = {"type": "login", "certificate": taken.certificate}
        with suppress(ChannelClosed):  # the relay notices as well
            await channel.send(welcome | {"columns": row.columns, "rows": row.rows})
        await relay.run()
    finally:
        del relay_server.relays[row.id]
        relay.told.set()  # however it ended: nobody waits for it any more


async def _refuse(channel: WebSocketChannel, problem: Problem) -> None:
    try:
        await channel.send({"type": "refused", "code": problem.code, "message": problem.detail or problem.kind.title})
    except ChannelClosed:
        return
    await channel.close()
