"""Follows a member's log: a stream that resumes after the last line that it yielded."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from json import loads

from gpuaas_sdk.aio.transport import Request, Transport
from gpuaas_sdk.errors import GpuaasError, Problem, ServerFailed, Unauthenticated
from gpuaas_sdk.generated.models import LogLine
from gpuaas_sdk.reader import read
from gpuaas_sdk.wire import QueryValue

# The server sends a comment every 10 to 15 s.
SILENCE_SECONDS = 45.0
MOST_FAILURES = 12  # in a row, before the error is raised
MAX_PAUSE = 5.0


@dataclass(frozen=True, slots=True)
class LinesLeftOut:
    """So many lines are missing here: there were too many at once."""

    lines: int


class LogWatch:
    """One reader's position in a log. It ends at the deadline, or with an error that a retry cannot fix."""

    def __init__(
        self,
        transport: Transport,
        path: str,
        query: Mapping[str, QueryValue],
        *,
        after: str | None,
        deadline: float | None,
    ) -> None:
        self._transport = transport
        self._path = path
        self._query = dict(query)
        self._after = after
        self._ends = None if deadline is None else time.monotonic() + deadline
        self._failures = 0

    async def __aiter__(self) -> AsyncGenerator[LogLine | LinesLeftOut, None]:
        while self._seconds_left() > 0:
            try:
                async with aclosing(self._stream()) as found:
                    async for one in found:
                        self._failures = 0
                        if isinstance(one, LogLine):
                            self._after = one.cursor
                        yield one
            except GpuaasError as error:
                await self._recover(error)

    async def _recover(self, error: GpuaasError) -> None:
        """Waits before the next attempt. Raises an error that a retry cannot fix, or that lasts."""
        if self._seconds_left() <= 0:
            return
        self._failures += 1
        renewed = isinstance(error, Unauthenticated) and self._failures == 1
        if not (error.retryable or renewed) or self._failures >= MOST_FAILURES:
            raise error
        pause = min(MAX_PAUSE, 0.2 * 2.0 ** min(self._failures, 6))
        await asyncio.sleep(min(pause, max(self._seconds_left(), 0.0)))

    async def _stream(self) -> AsyncGenerator[LogLine | LinesLeftOut, None]:
        headers = {"Accept": "text/event-stream"}
        if self._after is not None:
            headers["Last-Event-ID"] = self._after
        request = Request(method="GET", path=self._path, query=self._query, headers=headers)
        async with self._transport.stream(request, min(SILENCE_SECONDS, self._seconds_left())) as response:
            kind = ""
            async for line in _lines(response.aiter_bytes()):
                if line.startswith("event:"):
                    kind = line[6:].strip()
                elif line.startswith("data:"):
                    yield _read(kind, loads(line[5:]))
                if self._seconds_left() <= 0:
                    return

    def _seconds_left(self) -> float:
        return SILENCE_SECONDS if self._ends is None else self._ends - time.monotonic()


def _read(kind: str, body: dict[str, object]) -> LogLine | LinesLeftOut:
    if kind == "left_out":
        return LinesLeftOut(int(str(body.get("lines") or 0)))
    if kind == "ended":
        raise _ended(body)
    return read(LogLine, body)


def _ended(body: dict[str, object]) -> GpuaasError:
    """Return the error of a stream that ended with a problem after it had begun well."""
    return ServerFailed(
        Problem(
            code=str(body.get("code") or "log_read_failed"),
            status=502,
            detail=str(body.get("message") or "The stream of the log ended."),
            next_step=str(body.get("next_step") or ""),
            retryable=body.get("retryable") is True,
        )
    )


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Splits the stream at line feeds only: JSON may contain other Unicode line ends."""
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.rstrip(b"\r").decode()
