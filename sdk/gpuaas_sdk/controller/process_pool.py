"""Programs that stay on a host and answer each line of input with one line.

Logging in, becoming root and starting an interpreter costs a host more than most requests do. With a program that stays,
an operation pays that once.
"""

import asyncio
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

import asyncssh

from gpuaas_sdk.controller.failures import CommandFailed, HostUnreachable
from gpuaas_sdk.controller.host_output import LineReader, read_output

CLOSE_SECONDS = 5.0


@dataclass
class RemoteProcessPool:
    """The running programs of one host. While one is busy, another request starts a second one beside it."""

    address: str
    _idle: dict[tuple[str, ...], list[LineReader]] = field(default_factory=dict)

    async def request(
        self, connection: asyncssh.SSHClientConnection, words: Sequence[str], line: str, timeout: float
    ) -> str:
        """Returns the answer to the line. A program that timed out, or whose caller was cancelled, is not used again."""
        idle = self._idle.setdefault(tuple(words), [])
        program = None
        while idle and program is None:
            last = idle.pop()
            program = None if last.process.is_closing() else last
        try:
            async with asyncio.timeout(timeout):
                if program is None:
                    process = await connection.create_process(shlex.join(words), encoding=None)
                    program = LineReader(process, self.address)
                answer = await self._exchange(program, words, line)
        except BaseException as error:
            if program is not None:
                program.process.close()
            if isinstance(error, TimeoutError):  # the host answers; the program is slow
                raise
            if isinstance(error, OSError | asyncssh.Error):
                raise HostUnreachable(self.address, type(error).__name__) from error
            raise
        idle.append(program)
        return answer

    async def _exchange(self, program: LineReader, words: Sequence[str], line: str) -> str:
        process = program.process
        process.stdin.write(f"{line}\n".encode())
        answer = await program.read_line()
        if answer is not None:
            return answer.decode(errors="replace")
        _, errors = await read_output(process, self.address)
        if process.exit_status is None:  # the program did not end: the connection to it did
            raise HostUnreachable(self.address, "ConnectionLost")
        raise CommandFailed(self.address, list(words), process.exit_status, errors.decode(errors="replace"))

    async def close(self) -> None:
        """Ends the programs and waits for them: an inspection of the host must not find them."""
        programs = [one.process for idle in self._idle.values() for one in idle]
        running = [process for process in programs if not process.is_closing()]
        self._idle.clear()
        for process in running:
            process.stdin.write_eof()
        if running:
            await asyncio.wait([asyncio.ensure_future(one.wait_closed()) for one in running], timeout=CLOSE_SECONDS)
