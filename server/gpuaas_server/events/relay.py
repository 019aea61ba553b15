"""The outbox relay: hands every event of the log, in order and at least once, to a sink outside the database.

A sink's position in the log is kept in the database and moves only after the sink has the events for good.
"""

import asyncio
import logging
import os
from pathlib import Path
from typing import BinaryIO, Protocol

from psycopg import AsyncConnection, Error

from gpuaas_server.events import queries, service
from gpuaas_server.events.queries import EventFilter
from gpuaas_server.events.schemas import Event
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.database_health import CONNECT_OPTIONS
from gpuaas_server.kernel.errors import Problem

log = logging.getLogger(__name__)
_LOCK = "SELECT pg_advisory_lock(hashtextextended(%s, 0))"


class Sink(Protocol):
    name: str

    def deliver(self, events: list[Event]) -> None:
        """Return when the events are safe; raise to get them again."""


class JsonLinesSink:
    """One event a line, synced to disk before it counts as delivered."""

    def __init__(self, path: Path) -> None:
        self.name = f"file:{path}"
        self._path = path

    def deliver(self, events: list[Event]) -> None:
        lines = b"".join(event.__pydantic_serializer__.to_json(event) + b"\n" for event in events)
        with self._path.open("ab+") as file:
            _cut_torn_line(file)
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())


def _cut_torn_line(file: BinaryIO) -> None:
    """Remove the incomplete last line of a killed writer. Its event was not delivered, so it comes again."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - 65_536)
        file.seek(start)
        kept = file.read(end - start).rfind(b"\n") + 1
        if kept:
            end = start + kept
            break
        end = start
    file.truncate(end)


async def relay(platform: Platform, sink: Sink) -> None:
    """Pass events on until cancelled. A sink has one relay at a time: others wait for its lock, and take over when it dies."""
    while True:
        try:
            connection = await platform.database.health.connect(
                lambda: AsyncConnection.connect(platform.database.url, autocommit=True, **CONNECT_OPTIONS)
            )
            async with connection:
                await connection.execute(_LOCK, (f"gpuaas relay {sink.name}",))
                while True:
                    await _pass_on(platform, sink)
        except (Error, Problem, OSError) as error:
            if not platform.database.health.explains(error):
                log.info("relay interrupted, trying again", extra={"sink": sink.name, "error": str(error)})
            await asyncio.sleep(1)


async def _pass_on(platform: Platform, sink: Sink) -> None:
    async with platform.database.connection(PLATFORM) as connection:
        position = await queries.consumer_position(connection, sink.name)
    page = await service.event_page(platform, PLATFORM, EventFilter(), position, 30.0, 500)
    if page.items:
        await asyncio.to_thread(sink.deliver, page.items)
        reached = service.parse_cursor(page.next_cursor) or position
        async with platform.database.connection(PLATFORM) as connection:
            await queries.consumer_advance(connection, sink.name, reached)
