# Derived from gpuaas_sdk/aio/allocations.py by tools/sdk-client; change that file instead.
"""Allocations, beyond one call each: follow them until they are settled."""

import time
from collections.abc import Iterator, Sequence

from gpuaas_sdk.errors import ServerFailed, Unreachable, deadline_exceeded
from gpuaas_sdk.generated.models import Allocation
from gpuaas_sdk.generated.sync import AllocationsCalls
from gpuaas_sdk.sync.events import Events

AWAY_SECONDS = 0.5
EVENT_WAIT_SECONDS = 10


class Allocations(AllocationsCalls):
    def follow(self, project_id: str, allocation_ids: Sequence[str], deadline: float) -> Iterator[Allocation]:
        """Each allocation now and after each change, until all are settled or the deadline is over.

        A server that is away for a while (a restart) is waited for, within the deadline.
        """
        ends = time.monotonic() + deadline
        open_ids, seen = set(allocation_ids), dict[str, Allocation]()
        pause = _Pause(Events(self._transport), project_id, allocation_ids)
        left = deadline
        while open_ids:
            if left <= 0:
                waiting = ", ".join(sorted(open_ids)[:3])
                raise deadline_exceeded(f"Not settled after {deadline:g} seconds: {waiting}.")
            found: Sequence[Allocation] = ()
            try:
                pause.until_something_happens(left)
                found = self._look(project_id, open_ids)
            except (Unreachable, ServerFailed):
                time.sleep(min(max(left, 0.0), AWAY_SECONDS))
            for allocation in found:
                if seen.get(allocation.id) != allocation:
                    seen[allocation.id] = allocation
                    yield allocation
            open_ids = {one for one in open_ids if one not in seen or not seen[one].settled}
            left = ends - time.monotonic()

    def _look(self, project_id: str, wanted: set[str]) -> Sequence[Allocation]:
        """One call for one allocation; for many, the newest pages of the list up to the oldest wanted."""
        if len(wanted) == 1:
            return [self.show(project_id, *wanted)]
        oldest, found = min(wanted), []
        for allocation in self.list(project_id):
            if allocation.id < oldest:
                break
            if allocation.id in wanted:
                found.append(allocation)
        return found


class _Pause:
    """The first time only marks the place in the log; after that, until an event says that something changed."""

    def __init__(self, events: Events, project_id: str, allocation_ids: Sequence[str]) -> None:
        self._events = events
        self._project = project_id
        self._subject = allocation_ids[0] if len(allocation_ids) == 1 else None
        self._cursor: str | None = None

    def until_something_happens(self, left: float) -> None:
        if self._cursor is None:
            self._cursor = self._events.end(self._project)
            return
        wait = int(max(1, min(EVENT_WAIT_SECONDS, left)))
        page = self._events.page(self._project, after=self._cursor, subject=self._subject, wait=wait)
        self._cursor = page.next_cursor
