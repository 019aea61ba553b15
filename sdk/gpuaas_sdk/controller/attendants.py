"""A program that stays on a host and is asked again and again: a line in, a line out.

To log in, to become root and to start an interpreter costs a host more than most of what it is asked for. Whoever asks it
several things in one operation pays for that once.
"""

import asyncio
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

import asyncssh

from gpuaas_sdk.controller.failures import CommandFailed, HostUnreachable

GOODBYE_SECONDS = 5.0


@dataclass
class Attendants:
    """Of one host. One that is busy makes nobody else wait: another one is started beside it."""

    address: str
    _free: dict[tuple[str, ...], list["asyncssh.SSHClientProcess[str]"]] = field(default_factory=dict)

    async def ask(
        self, connection: asyncssh.SSHClientConnection, words: Sequence[str], line: str, timeout: float
    ) -> str:
        """What it answers. One that gave no answer in time, or whose asker went away, is not asked again."""
        free = self._free.setdefault(tuple(words), [])
        process = None
        while free and process is None:
            last = free.pop()
            process = None if last.is_closing() else last
        try:
            async with asyncio.timeout(timeout):
                if process is None:
                    process = await connection.create_process(shlex.join(words))
                answer = await self._answer(process, words, line)
        except BaseException as error:
            if process is not None:
                process.close()
            if isinstance(error, TimeoutError):  # the host is there, and the program takes its time
                raise
            if isinstance(error, OSError | asyncssh.Error):
                raise HostUnreachable(self.address, type(error).__name__) from error
            raise
        free.append(process)
        return answer

    async def _answer(self, process: "asyncssh.SSHClientProcess[str]", words: Sequence[str], line: str) -> str:
        process.stdin.write(f"{line}\n")
        answer = await process.stdout.readline()
        if answer.endswith("\n"):
            return answer
        ended = await process.wait()
        if ended.exit_status is None:  # it did not end: the way to it did
            raise HostUnreachable(self.address, "ConnectionLost")
        raise CommandFailed(self.address, list(words), ended.exit_status, str(ended.stderr))

    async def dismiss(self) -> None:
        """Until they are gone: who looks at the host then finds none of them."""
        there = [process for free in self._free.values() for process in free if not process.is_closing()]
        self._free.clear()
        for process in there:
            process.stdin.write_eof()
        if there:
            await asyncio.wait([asyncio.ensure_future(one.wait_closed()) for one in there], timeout=GOODBYE_SECONDS)
