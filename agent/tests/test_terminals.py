"""Shells on real pseudo-terminals, and a WebSocket client against a real server: what is carried, and how each ends."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.asyncio.server import Response, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request

from gpuaas_agent import wire
from gpuaas_agent.drivers.seam import SshTarget
from gpuaas_agent.specs import TerminalSpec
from gpuaas_agent.terminals.login import LoginFiles
from gpuaas_agent.terminals.session import Session, _connect
from gpuaas_agent.terminals.shell import Shell
from gpuaas_agent.terminals.websocket import SocketClosed, WebSocket, masked

pytestmark = pytest.mark.skipif(shutil.which("setpriv") is None and "CI" not in os.environ, reason="needs util-linux")
SECONDS = 60.0  # a guard against hanging


async def read_until(shell: Shell, wanted: bytes) -> bytes:
    seen = b""
    async with asyncio.timeout(SECONDS):
        while wanted not in seen:
            data = await shell.read()
            assert data, seen
            seen += data
    return seen


async def test_a_program_has_a_terminal_of_its_own_with_the_size_it_was_given() -> None:
    shell = await Shell.start(["sh", "-c", "stty size; read line; stty size; tty >/dev/null && exit 7"], 101, 33)
    await read_until(shell, b"33 101\r\n")
    shell.resize(132, 50)
    await shell.write(b"go\n")
    await read_until(shell, b"50 132\r\n")
    assert await shell.read() == b""
    assert await shell.exit_status() == 7
    await shell.end()


async def test_what_it_complains_about_is_not_on_the_screen() -> None:
    shell = await Shell.start(["sh", "-c", "echo one >&2; echo 'two \033[1m' >&2; exit 255"], 80, 24)
    assert await shell.read() == b""
    assert (await shell.exit_status(), await shell.last_error()) == (255, "two [1m")
    await shell.end()


@pytest.mark.parametrize("first", ["true", "trap '' HUP"])
async def test_to_end_it_is_to_hang_up_on_what_it_started(first: str) -> None:
    """Also on what ignores a hang-up, as all do that descend from `nohup`."""
    command = own_sleep()
    shell = await Shell.start(["sh", "-c", f"{first}; {command} & echo started; wait"], 80, 24)
    await read_until(shell, b"started")
    async with asyncio.timeout(SECONDS):
        await shell.end()
    assert await asyncio.to_thread(gone, command)


def own_sleep() -> str:
    """A command that nobody else on this machine runs."""
    return f"sleep {10**6 + secrets.randbelow(10**9)}"


def gone(command: str) -> bool:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if subprocess.run(["pgrep", "-f", f"^{command}$"], capture_output=True, check=False).returncode == 1:
            return True
        time.sleep(0.02)
    return False


def stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().split()


def cpu_time(pid: int) -> list[str]:
    return stat(pid)[13:15]


async def asleep(pid: int, name: str) -> None:
    """Until the program has come as far as waiting for somebody."""
    async with asyncio.timeout(SECONDS):
        while stat(pid)[1:3] != [f"({name})", "S"]:
            await asyncio.sleep(0.01)


async def test_a_writer_without_end_waits_until_its_output_is_read() -> None:
    shell = await Shell.start(["sh", "-c", "yes & echo $!; wait"], 80, 24)
    first = await read_until(shell, b"\r\n")
    pid = int(first.split(b"\r\n")[0])
    await asleep(pid, "yes")
    before = cpu_time(pid)
    await asyncio.sleep(0.3)
    assert cpu_time(pid) == before  # it does not run while nobody reads
    assert 4096 <= len(await shell.read()) <= 64 * 1024
    await shell.end()


async def test_what_a_program_does_not_take_is_dropped_and_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuaas_agent.terminals.shell._STUCK_SECONDS", 0.2)
    shell = await Shell.start(["sh", "-c", "stty raw -echo; echo ready; sleep 60"], 80, 24)
    await read_until(shell, b"ready")
    async with asyncio.timeout(SECONDS):
        await shell.write(bytes(1_000_000))
    await shell.end()


def test_a_killed_agent_takes_the_program_along() -> None:
    command = own_sleep()
    program = (
        "import asyncio, sys\nfrom gpuaas_agent.terminals.shell import Shell\n"
        "async def main():\n"
        f"    await Shell.start({command.split()}, 80, 24)\n    print('up', flush=True)\n    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    agent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert agent.stdout is not None
    assert agent.stdout.readline() == b"up\n"
    os.kill(agent.pid, signal.SIGKILL)
    agent.wait()
    assert gone(command)


def request(port: int, path: str = "/") -> wire.StreamRequest:
    return wire.StreamRequest(f"http://127.0.0.1:{port}", None, path, {"Authorization": "GPUAAS-AGENT x"})


async def echo(connection: ServerConnection) -> None:
    await connection.ping()
    async for message in connection:
        await connection.send(message)


@pytest.mark.parametrize("length", [0, 1, 125, 126, 65535, 65536, 200_000])
async def test_messages_of_every_length_come_back_as_they_went(length: int) -> None:
    async with serve(echo, "127.0.0.1", 0) as server, asyncio.timeout(SECONDS):
        socket = await WebSocket.open(request(server.sockets[0].getsockname()[1]))
        data = os.urandom(length)
        await socket.send(data)
        assert await socket.receive() == data
        await socket.send({"type": "resize", "columns": 80})
        assert await socket.receive() == {"type": "resize", "columns": 80}
        await socket.close()


async def test_a_server_whose_machine_is_gone_is_noticed_by_the_kernel() -> None:
    async with serve(echo, "127.0.0.1", 0) as server, asyncio.timeout(SECONDS):
        line = await WebSocket.open(request(server.sockets[0].getsockname()[1]))
        connection = line._writer.get_extra_info("socket")
        assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        idle, between, count = (
            connection.getsockopt(socket.IPPROTO_TCP, option)
            for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        )
        assert idle + between * count <= 180
        await line.close()


async def test_a_server_that_does_not_answer_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuaas_agent.terminals.websocket._CONNECT_SECONDS", 0.2)
    with socket.socket() as full:  # its queue is taken, so further connections are not answered
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        with socket.create_connection(full.getsockname()):
            async with serve(echo, "127.0.0.1", 0) as server, asyncio.timeout(SECONDS):
                there = request(server.sockets[0].getsockname()[1])
                line = await _connect([request(full.getsockname()[1]), there])
                await line.send(b"x")
                assert await line.receive() == b"x"
                await line.close()


async def test_to_hang_up_on_a_session_leaves_nothing_of_it_running(tmp_path: Path) -> None:
    async with serve(echo, "127.0.0.1", 0) as server, asyncio.timeout(SECONDS):
        line = await WebSocket.open(request(server.sockets[0].getsockname()[1]))
        shell = await Shell.start(["sh", "-c", "echo hello; sleep 60"], 80, 24)
        ssh_target = SshTarget("127.0.0.1", 22, "ann", "ssh-ed25519 AAAA")
        session = Session(TerminalSpec("trm_1", "alc_1", "baremetal"), ssh_target, tmp_path)
        before = asyncio.all_tasks()
        carried = asyncio.create_task(session._forward(line, shell, LoginFiles(tmp_path / "trm_1")))
        await session.opened
        carried.cancel()
        await asyncio.gather(carried, return_exceptions=True)
        assert asyncio.all_tasks() <= before
        await shell.end()
        await line.close()


async def test_a_server_that_hangs_up_is_noticed() -> None:
    async def leave(connection: ServerConnection) -> None:
        await connection.close()

    async with serve(leave, "127.0.0.1", 0) as server, asyncio.timeout(SECONDS):
        socket = await WebSocket.open(request(server.sockets[0].getsockname()[1]))
        with pytest.raises(SocketClosed):
            await socket.receive()
        await socket.close()


async def test_a_refusal_is_reported_with_its_code() -> None:
    def refuse(connection: ServerConnection, request: Request) -> Response:
        body = b'{"code": "node_retired", "detail": "The node is retired."}'
        return Response(403, "Forbidden", Headers({"Content-Length": str(len(body))}), body)

    async with serve(echo, "127.0.0.1", 0, process_request=refuse) as server, asyncio.timeout(SECONDS):
        with pytest.raises(wire.Refused) as refused:
            await WebSocket.open(request(server.sockets[0].getsockname()[1]))
    assert (refused.value.status, refused.value.code) == (403, "node_retired")


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    with pytest.raises(wire.Unreachable):
        await WebSocket.open(request(1))


@given(st.binary(max_size=100), st.binary(min_size=4, max_size=4))
def test_a_mask_is_taken_off_by_the_same_mask(data: bytes, key: bytes) -> None:
    assert masked(masked(data, key), key) == data
    assert masked(data, key) == bytes(byte ^ key[index % 4] for index, byte in enumerate(data))


async def test_a_server_that_is_away_is_passed_over() -> None:
    async with serve(echo, "127.0.0.1", 0) as server, asyncio.timeout(SECONDS):
        there = request(server.sockets[0].getsockname()[1])
        socket = await _connect([request(1), there])
        await socket.send(b"x")
        assert await socket.receive() == b"x"
        await socket.close()
    with pytest.raises(wire.Unreachable):
        await _connect([request(1), request(1)])
