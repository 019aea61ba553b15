"""Follow an operation to its end: woken by its events, looking at its steps in between."""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from gpuaas_sdk.errors import Denied, ServerFailed, Unreachable, deadline_exceeded
from gpuaas_sdk.events import Events

if TYPE_CHECKING:
    from gpuaas_sdk.operations import Operation

# Reported steps are no events: who follows a running operation looks once a second.
STEPS_WAIT_SECONDS = 1
IDLE_WAIT_SECONDS = 10
AWAY_SECONDS = 0.5


class OperationWatch:
    """One operation now and after each change. A server that is away for a while is waited for."""

    def __init__(self, events: Events, project_id: str, operation_id: str, look: Callable[[], "Operation"]) -> None:
        self._events = events
        self._project = project_id
        self._subject = operation_id
        self._look = look
        self._cursor: str | None = None
        self._last: Operation | None = None

    def until(self, deadline: float) -> Iterator["Operation"]:
        """Ends when the operation does; raises when that is not within `deadline` seconds."""
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
                raise deadline_exceeded(f"{self._subject} did not end within {deadline:g} seconds.")

    def _next(self, left: float) -> "Operation | None":
        try:
            self._pause(left)
            return self._look()
        except (Unreachable, ServerFailed):
            time.sleep(min(left, AWAY_SECONDS))
            return None

    def _pause(self, left: float) -> None:
        """The first time only marks the place in the log. Who may not read the log looks by the clock."""
        if self._last is None:
            self._cursor = self._end()
            return
        idle = self._last.status == "pending" and self._last.target != "bulk"
        wait = min(IDLE_WAIT_SECONDS if idle and self._cursor else STEPS_WAIT_SECONDS, int(left) + 1)
        if self._cursor is None:
            time.sleep(wait)
            return
        page = self._events.page(self._project, after=self._cursor, subject=self._subject, wait=wait)
        self._cursor = page.next_cursor

    def _end(self) -> str | None:
        try:
            return self._events.end(self._project)
        except Denied:
            return None
