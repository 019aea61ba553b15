# Derived from gpuaas_sdk/aio/events.py by tools/sdk-client; change that file instead.
"""Events: what happened, in order, of a project or (for operators, with None) of the whole platform."""

from collections.abc import Iterator

from gpuaas_sdk.generated.models import Event, EventPage
from gpuaas_sdk.generated.sync import EventsCalls
from gpuaas_sdk.reader import read
from gpuaas_sdk.sync.watching import Watch
from gpuaas_sdk.wire import path_of

PAGE_SIZE = 200


class Events(EventsCalls):
    def tail(self, project_id: str | None, count: int, *, subject: str | None = None) -> EventPage:
        """The last `count` events, oldest first, and the cursor after which only future ones come."""
        return self.page(project_id, tail=count, subject=subject)

    def end(self, project_id: str | None) -> str:
        """The cursor after which only future events come."""
        return (self.tail(project_id, 0)).next_cursor

    def watch(
        self,
        project_id: str | None,
        *,
        subject: str | None = None,
        after: str | None = None,
        deadline: float | None = None,
    ) -> Iterator[Event]:
        """Events as they happen, without gaps, until the deadline (seconds) or for ever."""
        path = path_of("events") if project_id is None else path_of("projects", project_id, "events")
        for notice in Watch(self._transport, path, subject=subject, after=after, deadline=deadline):
            yield read(Event, notice.body)

    def list(self, project_id: str | None, *, after: str | None = None, subject: str | None = None) -> Iterator[Event]:
        """Everything that is in the log now."""
        while True:
            page = self.page(project_id, after=after, subject=subject, limit=PAGE_SIZE)
            for event in page.items:
                yield event
            if len(page.items) < PAGE_SIZE:
                return
            after = page.next_cursor
