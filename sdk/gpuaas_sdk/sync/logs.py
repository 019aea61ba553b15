# Derived from gpuaas_sdk/aio/logs.py by tools/sdk-client; change that file instead.
"""Logs of members: their lines page by page, or as they are written."""

from collections.abc import Iterator
from datetime import datetime

from gpuaas_sdk.generated.models import LogLine
from gpuaas_sdk.generated.sync import LogsCalls
from gpuaas_sdk.sync.log_watch import LinesLeftOut, LogWatch
from gpuaas_sdk.wire import path_of

PAGE_SIZE = 500


class Logs(LogsCalls):
    def lines(
        self,
        project_id: str,
        instance_id: str,
        *,
        member: str | None = None,
        source: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Iterator[LogLine]:
        """Yields every line that a member's host has now, oldest first."""
        cursor: str | None = None
        while True:
            page = self.read(
                project_id,
                instance_id,
                member=member,
                source=source,
                since=since,
                until=until,
                order="oldest",
                limit=PAGE_SIZE,
                cursor=cursor,
            )
            for line in page.lines:
                yield line
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    def tail(
        self,
        project_id: str,
        instance_id: str,
        count: int,
        *,
        member: str | None = None,
        source: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[LogLine]:
        """Returns the newest `count` lines of a member, oldest first."""
        found: list[LogLine] = []
        cursor: str | None = None
        while len(found) < count:
            page = self.read(
                project_id,
                instance_id,
                member=member,
                source=source,
                since=since,
                until=until,
                order="newest",
                limit=min(PAGE_SIZE, count - len(found)),
                cursor=cursor,
            )
            found = [*page.lines, *found]
            if page.next_cursor is None:
                break
            cursor = page.next_cursor
        return found

    def follow(
        self,
        project_id: str,
        instance_id: str,
        *,
        member: str | None = None,
        source: str | None = None,
        since: datetime | None = None,
        tail: int = 100,
        after: str | None = None,
        deadline: float | None = None,
    ) -> Iterator[LogLine | LinesLeftOut]:
        """Yields lines as they are written, without end or until the deadline (seconds). It begins after the line `after`,
        at `since`, or with the newest `tail` lines. What was too much at once is counted by a `LinesLeftOut`.
        """
        path = path_of("projects", project_id, "instances", instance_id, "logs")
        query = {"member": member, "source": source, "since": since, "limit": max(1, tail)}
        for one in LogWatch(self._transport, path, query, after=after, deadline=deadline):
            yield one
