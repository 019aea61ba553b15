"""Reads what programs on a host write, up to a bound.

A host belongs to a tenant, who may be root on it: it may send without end, and a controller serves many tenants.
"""

import asyncio
from dataclasses import dataclass, field

import asyncssh

from gpuaas_sdk.controller.failures import Failed

LARGEST_OUTPUT = 16 << 20  # bytes that one command may write, standard output and error together
LARGEST_LINE = 4 << 20  # bytes of one answer of a program that stays
_CHUNK = 64 << 10
Process = asyncssh.SSHClientProcess[bytes]


class TooMuchOutput(Failed):
    """A program on a host wrote more than a controller reads."""

    def __init__(self, address: str, most: int) -> None:
        super().__init__(
            "host_output_too_large",
            f"A program on {address} wrote more than {most >> 20} MiB. The rest was not read.",
            next_step="Check the host: its programs do not answer as they should. Recover it, or replace it.",
        )


async def read_output(process: Process, address: str) -> tuple[bytes, bytes]:
    """Return what the process writes to standard output and error until it ends."""
    budget = _Budget(address, LARGEST_OUTPUT)
    streams = [asyncio.ensure_future(_read_all(one, budget)) for one in (process.stdout, process.stderr)]
    try:
        out, err = await asyncio.gather(*streams)
    finally:
        for one in streams:
            one.cancel()
        await asyncio.wait(streams)
    await process.wait_closed()
    return out, err


@dataclass(slots=True)
class LineReader:
    """The lines that a process writes to standard output."""

    process: Process
    address: str
    _rest: bytearray = field(default_factory=bytearray)  # what came after the last line

    async def read_line(self) -> bytes | None:
        """Return the next line with its end, or None when the process ended before it was complete."""
        searched = 0
        while (end := self._rest.find(b"\n", searched)) < 0:
            searched = len(self._rest)
            if searched >= LARGEST_LINE:
                raise TooMuchOutput(self.address, LARGEST_LINE)
            chunk = await self.process.stdout.read(_CHUNK)
            if not chunk:
                return None
            self._rest += chunk
        line = bytes(self._rest[: end + 1])
        del self._rest[: end + 1]
        return line


@dataclass(slots=True)
class _Budget:
    """The bytes that may still be read."""

    address: str
    most: int
    taken: int = 0

    def take(self, size: int) -> None:
        self.taken += size
        if self.taken > self.most:
            raise TooMuchOutput(self.address, self.most)


async def _read_all(stream: "asyncssh.SSHReader[bytes]", budget: _Budget) -> bytes:
    content = bytearray()
    while chunk := await stream.read(_CHUNK):
        budget.take(len(chunk))
        content += chunk
    return bytes(content)
