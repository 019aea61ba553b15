# Derived from gpuaas_sdk/aio/operation_watch.py by tools/sdk-client; change that file instead.
"""Follows an operation to its end by long polls: the server holds each one open until the operation changes."""

import time
from collections.abc import Callable, Iterator

from gpuaas_sdk.errors import ServerFailed, Unreachable, deadline_exceeded
from gpuaas_sdk.generated.models import Operation

WAIT_SECONDS = 30
UNAVAILABLE_SECONDS = 0.5

# Reads the operation: (seconds that the server may wait, generation that the answer must be newer than).
ReadOperation = Callable[[int, int], Operation]


class OperationWatch:
    """Yields one operation now and after each change. An unavailable server is tried again."""

    def __init__(self, operation_id: str, read: ReadOperation) -> None:
        self._operation_id = operation_id
        self._read = read
        self._last: Operation | None = None

    def until(self, deadline: float) -> Iterator[Operation]:
        """Ends when the operation has ended. Raises when that takes longer than `deadline` seconds."""
        ends = time.monotonic() + deadline
        while True:
            left = ends - time.monotonic()
            found = self._next(max(left, 0.0))
            if found is not None and found != self._last:
                self._last = found
                yield found
            if self._last is not None and not self._last.live:
                return
            if left <= 0:
                raise deadline_exceeded(f"{self._operation_id} did not end within {deadline:g} seconds.")

    def _next(self, left: float) -> Operation | None:
        wait = min(WAIT_SECONDS, int(left) + 1) if self._last is not None and left > 0 else 0
        known = 0 if self._last is None else self._last.generation
        started = time.monotonic()
        try:
            found = self._read(wait, known)
        except (Unreachable, ServerFailed):
            time.sleep(min(left, UNAVAILABLE_SECONDS))
            return None
        if (
            found == self._last and time.monotonic() - started < wait / 2
        ):  # a server that shuts down answers immediately
            time.sleep(min(left, UNAVAILABLE_SECONDS))
        return found
