"""A program on a pseudo-terminal: bytes in and out, a window size, an exit status. It dies with the agent."""

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

_IUTF8 = 0x4000  # Python 3.11 has no name for it
_LARGEST_READ = 64 * 1024
_LONGEST_ERROR = 2000
# What a program does not take for so long is dropped, as a terminal's own line does: else nobody could hang up any more.
_STUCK_SECONDS = 10.0


class Shell:
    def __init__(self, process: asyncio.subprocess.Process, master: int) -> None:
        self._process = process
        self._master = master
        self._stderr_tail = asyncio.ensure_future(_read_stderr_tail(process))

    @classmethod
    async def start(cls, argv: Sequence[str], columns: int, rows: int) -> Shell:
        """Its own session and terminal; killed by the kernel should the agent die. Errors are heard apart from the screen."""
        master, slave = pty.openpty()
        try:
            _understand_utf8(slave)
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
        """What there is, as much as fits into one message; empty at the end."""
        while True:
            try:
                data = os.read(self._master, _LARGEST_READ)
            except BlockingIOError:
                await _ready(self._master, write=False)
                continue
            except OSError:
                return b""  # nobody has the other end open any more
            return data + self._more(_LARGEST_READ - len(data))

    def _more(self, room: int) -> bytes:
        """A terminal gives four kilobytes at a time: many small messages would cost more than their bytes."""
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
        """As a shell would say it: killed by a signal is 128 and its number."""
        status = await self._process.wait()
        return status if status >= 0 else 128 - status

    async def last_error(self) -> str:
        """The last line that it wrote to its standard error."""
        lines = (await self._stderr_tail).decode(errors="replace").split("\n")
        told = [line.strip() for line in lines if line.strip()]
        return "".join(letter for letter in told[-1] if letter.isprintable())[:300] if told else ""

    async def end(self) -> None:
        """The program and what it started in its process group: a hang-up is not enough, for they may ignore it (an agent
        started by `nohup` passes that on), and the end of its standard error, which they share, is waited for.
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
        """Before `setsid` has run there is no group yet, and the program is alone."""
        if self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()


async def _read_stderr_tail(process: asyncio.subprocess.Process) -> bytes:
    """Read to the end, so that it never waits for us; only the end is kept."""
    said = b""
    if process.stderr is not None:
        while data := await process.stderr.read(4096):
            said = (said + data)[-_LONGEST_ERROR:]
    return said


async def _ready(descriptor: int, *, write: bool) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def tell() -> None:
        if not ready.done():
            ready.set_result(None)

    add, remove = (loop.add_writer, loop.remove_writer) if write else (loop.add_reader, loop.remove_reader)
    add(descriptor, tell)
    try:
        await ready
    finally:
        remove(descriptor)


def _understand_utf8(slave: int) -> None:
    """So that the line's own editing erases characters, not bytes. All else is as a terminal is by default: `ssh` takes these
    modes over to the far side, and then makes this side raw.
    """
    modes = termios.tcgetattr(slave)
    modes[0] |= _IUTF8
    termios.tcsetattr(slave, termios.TCSANOW, modes)


def _resize(master: int, columns: int, rows: int) -> None:
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
