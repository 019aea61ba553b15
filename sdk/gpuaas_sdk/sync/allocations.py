# Derived from gpuaas_sdk/aio/allocations.py by tools/sdk-client; change that file instead.
"""Allocations: follows them until they are settled."""

import time
from collections.abc import Iterator, Sequence

from gpuaas_sdk.errors import ServerFailed, Unreachable, deadline_exceeded
from gpuaas_sdk.generated.models import Allocation
from gpuaas_sdk.generated.sync import AllocationsCalls
from gpuaas_sdk.sync.events import Events

UNAVAILABLE_SECONDS = 0.5
EVENT_WAIT_SECONDS = 10


class Allocations(AllocationsCalls):
    def follow(self, project_id: str, allocation_ids: Sequence[str], deadline: float) -> Iterator[Allocation]:
        """Yields each allocation now and after each change, until all are settled. Raises at the deadline.

        An unavailable server, for example during a restart, is tried again until the deadline.
        """
        ends = time.monotonic() + deadline
        open_ids, seen = set(allocation_ids), dict[str, Allocation]()
        change = _NextChange(Events(self._transport), project_id, allocation_ids)
        left = deadline
        while open_ids:
            if left <= 0:
                waiting = ", ".join(sorted(open_ids)[:3])
                raise deadline_exceeded(f"Not settled after {deadline:g} seconds: {waiting}.")
            found: Sequence[Allocation] = ()
            try:
                change.wait(left)
                found = self._read_all(project_id, open_ids)
            except (Unreachable, ServerFailed):
                time.sleep(min(max(left, 0.0), UNAVAILABLE_SECONDS))
            for allocation in found:
                if seen.get(allocation.id) != allocation:
                    seen[allocation.id] = allocation
                    yield allocation
            open_ids = {one for one in open_ids if one not in seen or not seen[one].settled}
            left = ends - time.monotonic()

    def _read_all(self, project_id: str, wanted: set[str]) -> Sequence[Allocation]:
        """Reads one allocation by one call, and several by the newest pages of the list down to the oldest of them."""
        if len(wanted) == 1:
            return [self.show(project_id, *wanted)]
        oldest, found = min(wanted), []
        for allocation in self.list(project_id):
            if allocation.id < oldest:
                break
            if allocation.id in wanted:
                found.append(allocation)
        return found


class _NextChange:
    """The first wait only records the position in the event log; each later one returns when an event arrives."""

    def __init__(self, events: Events, project_id: str, allocation_ids: Sequence[str]) -> None:
        self._events = events
        self._project = project_id
        self._subject = allocation_ids[0] if len(allocation_ids) == 1 else None
        self._cursor: str | None = None

    def wait(self, left: float) -> None:
        if self._cursor is None:
            self._cursor = self._events.end(self._project)
            return
        seconds = int(max(1, min(EVENT_WAIT_SECONDS, left)))
        page = self._events.page(self._project, after=self._cursor, subject=self._subject, wait=seconds)
        self._cursor = page.next_cursor
