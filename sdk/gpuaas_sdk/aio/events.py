"""Events of a project, in order, or of the whole platform (for operators, with None as the project)."""

from collections.abc import AsyncIterator

from gpuaas_sdk.aio.event_watch import EventWatch
from gpuaas_sdk.generated.aio import EventsCalls
from gpuaas_sdk.generated.models import Event, EventPage
from gpuaas_sdk.reader import read
from gpuaas_sdk.wire import path_of

PAGE_SIZE = 200


class Events(EventsCalls):
    async def tail(self, project_id: str | None, count: int, *, subject: str | None = None) -> EventPage:
        """Returns the last `count` events, oldest first, and the cursor after which only future events come."""
        return await self.page(project_id, tail=count, subject=subject)

    async def end(self, project_id: str | None) -> str:
        """Returns the cursor after which only future events come."""
        return (await self.tail(project_id, 0)).next_cursor

    async def watch(
        self,
        project_id: str | None,
        *,
        subject: str | None = None,
        after: str | None = None,
        deadline: float | None = None,
    ) -> AsyncIterator[Event]:
        """Yields events as they happen, without gaps, until the deadline (seconds) or without end."""
        path = path_of("events") if project_id is None else path_of("projects", project_id, "events")
        async for event in EventWatch(self._transport, path, subject=subject, after=after, deadline=deadline):
            yield read(Event, event.body)

    async def list(
        self, project_id: str | None, *, after: str | None = None, subject: str | None = None
    ) -> AsyncIterator[Event]:
        """Yields every event that is in the log now."""
        while True:
            page = await self.page(project_id, after=after, subject=subject, limit=PAGE_SIZE)
            for event in page.items:
                yield event
            if len(page.items) < PAGE_SIZE:
                return
            after = page.next_cursor
