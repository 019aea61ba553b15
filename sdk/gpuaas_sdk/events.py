"""Events: what happened, in order, of a project or (for operators) of the whole platform."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gpuaas_sdk.calls import Calls
from gpuaas_sdk.reader import Resource, read
from gpuaas_sdk.transport import Request, path_of
from gpuaas_sdk.watching import Watch

PAGE_SIZE = 200


@dataclass(frozen=True, kw_only=True)
class Event(Resource):
    """A CloudEvent; `cursor` is its place in the log."""

    id: str
    type: str
    subject: str
    time: datetime
    cursor: str
    tenant_id: str | None = None
    project_id: str | None = None
    correlation_id: str = ""
    data: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class EventPage(Resource):
    items: list[Event]
    next_cursor: str


class Events(Calls):
    """`project_id=None` means the whole platform."""

    def page(
        self,
        project_id: str | None,
        *,
        after: str | None = None,
        subject: str | None = None,
        wait: int = 0,
        limit: int = PAGE_SIZE,
    ) -> EventPage:
        """Events after the cursor, oldest first; `wait` is how many seconds to wait for one."""
        query = {"after": after, "subject": subject, "wait": wait, "limit": limit}
        request = Request(method="GET", path=_path(project_id), query=query, timeout=wait + 30.0)
        return self._record(EventPage, request)

    def list(self, project_id: str | None, *, after: str | None = None, subject: str | None = None) -> Iterator[Event]:
        """Everything that is in the log now."""
        while True:
            page = self.page(project_id, after=after, subject=subject)
            yield from page.items
            if len(page.items) < PAGE_SIZE:
                return
            after = page.next_cursor

    def tail(self, project_id: str | None, count: int, *, subject: str | None = None) -> EventPage:
        """The last `count` events, oldest first, and the cursor after which only future ones come."""
        query = {"tail": count, "subject": subject}
        return self._record(EventPage, Request(method="GET", path=_path(project_id), query=query))

    def end(self, project_id: str | None) -> str:
        """The cursor after which only future events come."""
        return self.tail(project_id, 0).next_cursor

    def watch(
        self,
        project_id: str | None,
        *,
        subject: str | None = None,
        after: str | None = None,
        deadline: float | None = None,
    ) -> Iterator[Event]:
        """Events as they happen, without gaps, until the deadline (seconds) or for ever."""
        watch = Watch(self._transport, _path(project_id), subject=subject, after=after, deadline=deadline)
        for notice in watch:
            yield read(Event, notice.body)


def _path(project_id: str | None) -> str:
    return path_of("events") if project_id is None else path_of("projects", project_id, "events")
