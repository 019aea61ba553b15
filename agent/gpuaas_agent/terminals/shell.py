"""Runs a program on a pseudo-terminal: bytes in and out, a window size, an exit status. It ends with the agent."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import signal
import struct
import termios
from collections.abc import Sequence

from gpuaas_agent.commands import ENVIRONMENT

_IUTF8 = 0x4000  # not defined in Python 3.11
_LARGEST_READ = 64 * 1024
_LONGEST_ERROR = 2000
# Input that a program does not read for this long is dropped, as a terminal does; otherwise it could not be closed.
_STUCK_SECONDS = 10.0


class Shell:
    def __init__(self, process: asyncio.subprocess.Process, master: int) -> None:
        self._process = process
        self._master = master
        self._stderr_tail = asyncio.ensure_future(_read_stderr_tail(process))

    @classmethod
    async def start(cls, argv: Sequence[str], columns: int, rows: int) -> Shell:
        """Start a program in its own session and terminal. The kernel kills it with the agent; stderr is read separately."""
        master, slave = pty.openpty()
        try:
            _enable_utf8(slave)
            _resize(master, columns, rows)
            os.set_blocking(master, False)
            process = await asyncio.create_subprocess_exec(
                *("setpriv", "--pdeathsig", "KILL", "setsid", "--ctty", *argv),
                stdin=slave,
                stdout=slave,
                stderr=asyncio.subprocess.PIPE,
                env={**ENVIRONMENT, "TERM": "xterm-256color"},
            )
        except BaseException:
            os.close(master)
            raise
        finally:
            os.close(slave)
        return cls(process, master)

    async def read(self) -> bytes:
        """Return the available output, at most one message; empty at the end."""
        while True:
            try:
                data = os.read(self._master, _LARGEST_READ)
            except BlockingIOError:
                await _ready(self._master, write=False)
                continue
            except OSError:
                return b""  # no process has the other end open
            return data + self._read_more(_LARGEST_READ - len(data))

    def _read_more(self, room: int) -> bytes:
        """Read more output: a terminal returns four kilobytes at a time, and many small messages are expensive."""
        parts = []
        with contextlib.suppress(OSError):
            while room > 0 and (data := os.read(self._master, room)):
                parts.append(data)
                room -= len(data)
        return b"".join(parts)

    async def write(self, data: bytes) -> None:
        rest = memoryview(data)
        with contextlib.suppress(TimeoutError, OSError):
            while rest:
                try:
                    rest = rest[os.write(self._master, rest) :]
                except BlockingIOError:
                    async with asyncio.timeout(_STUCK_SECONDS):
                        await _ready(self._master, write=True)

    def resize(self, columns: int, rows: int) -> None:
        with contextlib.suppress(OSError):
            _resize(self._master, columns, rows)

    async def exit_status(self) -> int:
        """Return the exit status as a shell does: 128 plus the signal's number if a signal ended it."""
        status = await self._process.wait()
        return status if status >= 0 else 128 - status

    async def last_error(self) -> str:
        """Return the last line of the program's standard error."""
        lines = (await self._stderr_tail).decode(errors="replace").split("\n")
        errors = [line.strip() for line in lines if line.strip()]
        return "".join(letter for letter in errors[-1] if letter.isprintable())[:300] if errors else ""

    async def end(self) -> None:
        """Kill the program and its process group. SIGHUP is not enough: they may ignore it (an agent under `nohup` passes
        that on), and the end of their shared standard error is awaited.
        """
        try:
            self._kill_group()
            await self._process.wait()
        finally:
            self._stderr_tail.cancel()
            if self._master >= 0:
                os.close(self._master)
                self._master = -1

    def _kill_group(self) -> None:
        """Kill the process group and the program: before `setsid` runs, the program has no group of its own."""
        if self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()


async def _read_stderr_tail(process: asyncio.subprocess.Process) -> bytes:
    """Read standard error to its end, so that the program never blocks, and keep only its tail."""
    tail = b""
    if process.stderr is not None:
        while data := await process.stderr.read(4096):
            tail = (tail + data)[-_LONGEST_ERROR:]
    return tail


async def _ready(descriptor: int, *, write: bool) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def set_ready() -> None:
        if not ready.done():
            ready.set_result(None)

    add, remove = (loop.add_writer, loop.remove_writer) if write else (loop.add_reader, loop.remove_reader)
    add(descriptor, set_ready)
    try:
        await ready
    finally:
        remove(descriptor)


def _enable_utf8(slave: int) -> None:
    """Make line editing erase characters, not bytes. All other modes stay at their defaults: `ssh` copies them to the
    remote side and then makes this side raw.
    """
    modes = termios.tcgetattr(slave)
    modes[0] |= _IUTF8
    termios.tcsetattr(slave, termios.TCSANOW, modes)


def _resize(master: int, columns: int, rows: int) -> None:
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
