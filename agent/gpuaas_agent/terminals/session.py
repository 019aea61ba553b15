"""One terminal: get a certificate from the platform, log in, and forward bytes until one side ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpuaas_agent import log, wire
from gpuaas_agent.drivers.seam import SshTarget
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.specs import TerminalSpec
from gpuaas_agent.terminals.login import LoginFiles, LoginKey
from gpuaas_agent.terminals.shell import Shell
from gpuaas_agent.terminals.websocket import SocketClosed, WebSocket


@dataclass
class Session:
    spec: TerminalSpec
    ssh_target: SshTarget
    folder: Path
    opened: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    async def run(self, requests: Sequence[wire.StreamRequest]) -> None:
        """Run the terminal. `opened` tells whether a shell answered, or why not; a later end is not a failure."""
        files = LoginFiles(self.folder / self.spec.terminal_id)
        try:
            socket = await _connect(requests)
            try:
                shell = await self._log_in(socket, files)
                try:
                    await self._forward(socket, shell, files)
                finally:
                    await shell.end()
            finally:
                await socket.close()
        except (TaskFailure, wire.Refused, wire.Unreachable, SocketClosed, OSError) as problem:
            self._fail(_failure(problem))
        finally:
            files.remove()
            self._fail(TaskFailure("terminal_ended", "The terminal ended before its shell answered."))

    def _fail(self, failure: TaskFailure) -> None:
        if not self.opened.done():
            self.opened.set_exception(failure)

    async def _log_in(self, socket: WebSocket, files: LoginFiles) -> Shell:
        key = LoginKey.fresh()
        await socket.send({"type": "hello", "public_key": key.public_line})
        answer = await socket.receive()
        if not isinstance(answer, dict) or answer.get("type") != "login":
            refusal = answer if isinstance(answer, dict) else {}
            raise TaskFailure(
                "terminal_not_wanted",
                f"The platform refused the terminal: {str(refusal.get('message') or 'no reason')[:200]}",
                "Open the terminal again.",
            )
        columns, rows = _size(answer) or (80, 24)
        files.write(key, str(answer["certificate"]), self.ssh_target, self.spec.allocation_id)
        return await Shell.start(files.command(self.ssh_target, self.spec.allocation_id), columns, rows)

    async def _forward(self, socket: WebSocket, shell: Shell, files: LoginFiles) -> None:
        directions = [self._send_output(socket, shell, files), self._send_input(socket, shell)]
        tasks = [asyncio.create_task(direction) for direction in directions]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:  # also on cancellation: no task may use a descriptor that is about to be closed
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            task.result()

    async def _send_output(self, socket: WebSocket, shell: Shell, files: LoginFiles) -> None:
        while data := await shell.read():
            if not self.opened.done():  # the first output of the shell: the login succeeded
                files.remove()
                await socket.send({"type": "opened"})
                self.opened.set_result(None)
            await socket.send(data)
        status = await shell.exit_status()
        if self.opened.done():
            await socket.send({"type": "ended", "exit_status": status})
            return
        failure = TaskFailure(
            "terminal_login_failed",
            f"The login for the terminal failed: {await shell.last_error() or f'status {status}'}",
            "Look at `journalctl -u ssh` in the allocation; its SSH service must accept its users.",
        )
        await socket.send({"type": "ended", "failed": True, "exit_status": status, "message": failure.message})
        raise failure

    async def _send_input(self, socket: WebSocket, shell: Shell) -> None:
        with contextlib.suppress(SocketClosed):
            while True:
                message = await socket.receive()
                if isinstance(message, bytes):
                    await asyncio.shield(self.opened)  # until the login succeeds, the local terminal would echo it
                    await shell.write(message)
                elif message.get("type") == "resize" and (size := _size(message)) is not None:
                    shell.resize(*size)
                elif message.get("type") == "close":
                    log.event("terminal_closed", reason=str(message.get("reason"))[:40])
                    return


async def _connect(requests: Sequence[wire.StreamRequest]) -> WebSocket:
    """Connect to the first server that answers."""
    for request in requests[:-1]:
        with contextlib.suppress(wire.Unreachable):
            return await WebSocket.open(request)
    return await WebSocket.open(requests[-1])


def _size(message: dict[str, object]) -> tuple[int, int] | None:
    columns, rows = message.get("columns"), message.get("rows")
    if isinstance(columns, int) and isinstance(rows, int) and 0 < columns < 10_000 and 0 < rows < 10_000:
        return columns, rows
    return None


def _failure(problem: Exception) -> TaskFailure:
    if isinstance(problem, TaskFailure):
        return problem
    return TaskFailure(
        "terminal_not_connected",
        f"The terminal's connection to the platform failed: {str(problem) or type(problem).__name__}"[:300],
        "Open the terminal again. If it fails again, look at the agent's log.",
        retryable=True,
    )
