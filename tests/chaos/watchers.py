"""Clients that follow a project's events from a cursor: one reads pages, one a stream that is sometimes interrupted."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field

import httpx

from chaos.clients import Session, items_of

STREAM_SECONDS = 5.0  # after this time without a byte, the stream is opened again at another replica
FINISH_SECONDS = 120.0


@dataclass
class Watcher:
    """Follows a project's events with a cursor, at one replica after the other."""

    session: Session
    project_id: str
    start: str = ""
    cursor: str = ""
    seen: list[tuple[str, str]] = field(default_factory=list)  # cursor and id of each event, as they came
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    async def begin(self) -> None:
        page = await self.session.read(f"/projects/{self.project_id}/events", tail=0)
        self.start = self.cursor = str((page or {})["next_cursor"])

    async def run(self) -> None:
        while not self.stopping.is_set():
            await self.look(wait=2)

    async def look(self, wait: int) -> int:
        """How many came."""
        path, limit = f"/projects/{self.project_id}/events", self.session.dice.choice([3, 50])
        page = await self.session.read(path, after=self.cursor, wait=wait, limit=limit)
        if page is None:
            return 0
        found = items_of(page)
        self.seen += [(str(event["cursor"]), str(event["id"])) for event in found]
        self.cursor = str(page["next_cursor"])
        return len(found)

    async def finish(self) -> None:
        """Read to the end, when nothing happens any more."""
        while await self.look(wait=0):
            pass


@dataclass
class StreamWatcher(Watcher):
    """The same by server-sent events. Whenever a stream ends, it opens another with the last id that it has seen."""

    opened: int = 0  # streams, one after the other

    async def run(self) -> None:
        dice = self.session.dice
        while not self.stopping.is_set():
            await self._follow(enough=dice.choice([1, 5, 200]))
            await asyncio.sleep(dice.uniform(0.0, 0.3))

    async def finish(self) -> None:
        """Read to the end, when nothing happens any more."""
        last = items_of(await self.session.read(f"/projects/{self.project_id}/events", tail=1))
        deadline = time.monotonic() + FINISH_SECONDS
        while last and self.cursor != last[0]["cursor"] and time.monotonic() < deadline:
            await self._follow(until=str(last[0]["cursor"]))

    async def _follow(self, enough: int = 0, until: str = "") -> None:
        """One stream, until it breaks off, or we do: after so many events, or after a certain one."""
        seen = 0
        try:
            async with aclosing(self._events()) as events:
                async for cursor, event_id in events:
                    self.seen.append((cursor, event_id))
                    self.cursor, seen = cursor, seen + 1
                    if seen == enough or cursor == until or (self.stopping.is_set() and not until):
                        return
        except httpx.HTTPError:
            return

    async def _events(self) -> AsyncIterator[tuple[str, str]]:
        """Cursor and id of each event whose frame came whole."""
        url = self.session.dice.choice(list(self.session.replicas.values()))
        headers = {
            "Authorization": f"Bearer {self.session.token}",
            "Accept": "text/event-stream",
            "Last-Event-ID": self.cursor,
        }
        path, timeout = f"{url}/api/v1/projects/{self.project_id}/events", httpx.Timeout(STREAM_SECONDS)
        async with self.session.http.stream("GET", path, headers=headers, timeout=timeout) as answer:
            if answer.status_code != 200:
                return
            self.opened += 1
            fields: dict[str, str] = {}
            async for line in answer.aiter_lines():
                if line and not line.startswith(":"):
                    name, _, value = line.partition(": ")
                    fields[name] = value
                elif not line and fields:
                    yield fields["id"], str(json.loads(fields["data"])["id"])
                    fields = {}
