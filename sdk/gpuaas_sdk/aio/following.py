"""Follow an operation to its end: the server holds each question until there is something newer to see."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from gpuaas_sdk.errors import ServerFailed, Unreachable, deadline_exceeded
from gpuaas_sdk.generated.models import Operation

WAIT_SECONDS = 30
AWAY_SECONDS = 0.5

# The operation, once its generation is newer than the second number; asked for with so many seconds of patience.
Look = Callable[[int, int], Awaitable[Operation]]


class OperationWatch:
    """One operation now and after each change. A server that is away for a while is waited for."""

    def __init__(self, operation_id: str, look: Look) -> None:
        self._subject = operation_id
        self._look = look
        self._last: Operation | None = None

    async def until(self, deadline: float) -> AsyncIterator[Operation]:
        """Ends when the operation does; raises when that is not within `deadline` seconds."""
        ends = time.monotonic() + deadline
        while True:
            left = ends - time.monotonic()
            found = await self._next(max(left, 0.0))
            if found is not None and found != self._last:
                self._last = found
                yield found
            if self._last is not None and not self._last.live:
                return
            if left <= 0:
                raise deadline_exceeded(f"{self._subject} did not end within {deadline:g} seconds.")

    async def _next(self, left: float) -> Operation | None:
        wait = min(WAIT_SECONDS, int(left) + 1) if self._last is not None and left > 0 else 0
        known = 0 if self._last is None else self._last.generation
        asked = time.monotonic()
        try:
            found = await self._look(wait, known)
        except (Unreachable, ServerFailed):
            await asyncio.sleep(min(left, AWAY_SECONDS))
            return None
        if found == self._last and time.monotonic() - asked < wait / 2:  # a server that is about to end does not wait
            await asyncio.sleep(min(left, AWAY_SECONDS))
        return found
