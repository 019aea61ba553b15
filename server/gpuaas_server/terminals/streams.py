"""The two WebSockets of a terminal: the person's, and the one that the host's agent brings."""

import asyncio
from contextlib import suppress

from fastapi import APIRouter, WebSocket

from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.call import Admission
from gpuaas_server.kernel.http.handshake import Handshake
from gpuaas_server.kernel.http.streams import StreamOwner
from gpuaas_server.terminals import holding, watching
from gpuaas_server.terminals.carrying import Carrier
from gpuaas_server.terminals.desk import Desk
from gpuaas_server.terminals.lines import LineGone, WebSocketLine

router = APIRouter()
PATH = "/projects/{project_id}/allocations/{allocation_id}/terminals"
HELLO_SECONDS = 10.0


@router.websocket(f"{PATH}/{{terminal_id}}/stream")
async def terminal_stream(socket: WebSocket, project_id: str, allocation_id: str, terminal_id: str) -> None:
    """By bearer token, or by the session's cookie from our own pages. Refused with a problem document before it opens."""
    platform, gate = socket.app.state.platform, socket.app.state.gate
    handshake = Handshake(socket)
    admission: Admission = await gate.admit(handshake, "terminal_stream")
    row = await watching.terminal_to_watch(
        platform, admission.scope, admission.actor, project_id, allocation_id, terminal_id
    )

    async def still_there() -> bool:
        try:
            now: Admission = await gate.admit_again(handshake, "terminal_stream")
        except Problem as problem:
            return problem.kind.status not in (401, 403, 404)
        return await watching.may_be_there(platform, now.scope, now.caller, now.actor, row)

    owner = StreamOwner(admission.actor.id, project_id, admission.caller.tenant_id)
    with socket.app.state.streams.opened(owner, "terminal"):
        await socket.accept()
        await watching.watch(platform, socket.app.state.terminals, row, WebSocketLine(socket), still_there)


@router.websocket("/agent/terminals/{terminal_id}/stream")
async def agent_terminal_stream(socket: WebSocket, terminal_id: str) -> None:
    """Signed by the node like any call of its agent. The terminal is taken with the first message, which brings a key."""
    platform, desk = socket.app.state.platform, socket.app.state.terminals
    admission: Admission = await socket.app.state.gate.admit(Handshake(socket, "GET"), "agent_terminal_stream")
    await socket.accept()
    line = WebSocketLine(socket)
    try:
        async with asyncio.timeout(HELLO_SECONDS):
            hello = await line.receive()
        public_key = str(hello.get("public_key")) if isinstance(hello, dict) else ""
        by = holding.Answering(admission.actor, socket.scope["state"]["node_key_generation"])
        taken = await holding.terminal_take(platform, by, terminal_id, public_key, desk.address)
    except Problem as problem:
        await _refuse(line, problem)
        return
    except (LineGone, TimeoutError):
        await line.close()
        return
    await _carry(desk, Carrier(platform, taken.row, line), line, taken)


async def _carry(desk: Desk, carrier: Carrier, line: WebSocketLine, taken: holding.Taken) -> None:
    row = taken.row
    desk.carriers[row["id"]] = carrier
    try:
        welcome: dict[str, object] = {"type": "login", "certificate": taken.certificate}
        with suppress(LineGone):  # the carrier notices as well
            await line.send(welcome | {"columns": row["columns"], "rows": row["rows"]})
        await carrier.run()
    finally:
        del desk.carriers[row["id"]]
        carrier.told.set()  # however it ended: nobody waits for it any more


async def _refuse(line: WebSocketLine, problem: Problem) -> None:
    try:
        await line.send({"type": "refused", "code": problem.code, "message": problem.detail or problem.kind.title})
    except LineGone:
        return
    await line.close()
