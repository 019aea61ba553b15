"""Watches the event log without gaps: a stream that resumes by cursor, or long polls where a proxy blocks streams."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from json import loads

from gpuaas_sdk.aio.transport import Request, Transport
from gpuaas_sdk.errors import GpuaasError, Unauthenticated, Unreachable

# The server sends a comment every 15 s. A longer silence means that something buffers the stream.
SILENCE_SECONDS = 45.0
POLL_WAIT_SECONDS = 30
STREAM_FAILURES_BEFORE_POLLING = 3
MAX_PAUSE = 5.0


@dataclass(frozen=True, slots=True)
class StreamedEvent:
    """One event as it arrived, with the cursor that resumes after it."""

    cursor: str
    body: object


class EventWatch:
    """One reader's position in the log. It ends at the deadline, or with an error that a retry cannot fix."""

    def __init__(
        self,
        transport: Transport,
        path: str,
        *,
        subject: str | None,
        after: str | None,
        deadline: float | None,
    ) -> None:
        self._transport = transport
        self._path = path
        self._subject = subject
        self._after = after
        self._ends = None if deadline is None else time.monotonic() + deadline
        self._streaming = True
        self._failures = 0

    async def __aiter__(self) -> AsyncGenerator[StreamedEvent, None]:
        while self._seconds_left() > 0:
            try:
                async with aclosing(self._stream() if self._streaming else self._poll()) as events:
                    async for event in events:
                        self._after = event.cursor
                        self._failures = 0
                        yield event
            except GpuaasError as error:
                await self._recover(error)

    async def _recover(self, error: GpuaasError) -> None:
        """Waits before the next attempt. Raises an error that a retry cannot fix."""
        if self._seconds_left() <= 0:
            return
        self._failures += 1
        renewed = isinstance(error, Unauthenticated) and self._failures == 1
        if not (error.retryable or renewed):
            raise error
        if self._failures >= STREAM_FAILURES_BEFORE_POLLING:
            self._streaming = False
        pause = min(MAX_PAUSE, 0.2 * 2.0 ** min(self._failures, 6))
        await asyncio.sleep(min(pause, max(self._seconds_left(), 0.0)))

    async def _stream(self) -> AsyncGenerator[StreamedEvent, None]:
        headers = {"Accept": "text/event-stream"}
        if self._after is not None:
            headers["Last-Event-ID"] = self._after
        request = self._request(headers, {})
        received = False
        try:
            async with self._transport.stream(request, min(SILENCE_SECONDS, self._seconds_left())) as response:
                if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
                    self._streaming = False
                    return
                async for line in _lines(response.aiter_bytes()):
                    received = True
                    if line.startswith("data:"):
                        yield _read_event(line)
                    if self._seconds_left() <= 0:
                        return
        except Unreachable:
            if not received:
                self._streaming = False
            raise

    async def _poll(self) -> AsyncGenerator[StreamedEvent, None]:
        wait = int(max(0.0, min(POLL_WAIT_SECONDS, self._seconds_left())))
        request = self._request({}, {"wait": wait, "after": self._after}, timeout=wait + 15.0)
        answer = await self._transport.send(request)
        for item in answer.json().get("items", []):
            yield StreamedEvent(str(item["cursor"]), item)

    def _request(
        self,
        headers: dict[str, str],
        query: dict[str, str | int | bool | None],
        timeout: float | None = None,
    ) -> Request:
        query = {"subject": self._subject, **query}
        return Request(method="GET", path=self._path, query=query, headers=headers, timeout=timeout)

    def _seconds_left(self) -> float:
        return SILENCE_SECONDS if self._ends is None else self._ends - time.monotonic()


def _read_event(line: str) -> StreamedEvent:
    """Read one event. Each `data` line is one, and contains its cursor."""
    body = loads(line[5:])
    return StreamedEvent(str(body["cursor"]), body)


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Splits the stream at line feeds only: JSON may contain other Unicode line ends."""
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.rstrip(b"\r").decode()
