"""Server-sent events. Thousands may watch the same thing: they share one look at the log, and the bytes it becomes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from gpuaas_server.events import service
from gpuaas_server.events.queries import EventFilter, Place
from gpuaas_server.events.schemas import Event
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import Database, Scope
from gpuaas_server.kernel.http.problems import away
from gpuaas_server.kernel.wakeups import Look

QUIET_SECONDS = 15.0
PORTION = 200


@dataclass(frozen=True, slots=True)
class Portion:
    """What comes after a place in the log, as it goes over the wire, and the place that it ends at."""

    text: bytes
    end: Place


# The same rows for the same question: what the database shows is decided by the scope, which is part of it.
_Question = tuple[Database, Scope, EventFilter, Place]
_coming: dict[_Question, asyncio.Task[Look[Portion]]] = {}


async def event_stream(
    platform: Platform, scope: Scope, wanted: EventFilter, after: Place, allowed: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    """A comment every 15 s keeps the connection alive. Resume with Last-Event-ID.

    It ends with the caller's token or role: `allowed` is asked again before each look.
    """
    yield b": stream open\n\n"
    place = after

    async def look() -> Look[Portion]:
        return await _shared(platform.database, scope, wanted, place)

    with suppress(*away):  # it ends; the watcher comes again with its last cursor, and is told then
        while not platform.wakeups.ending and await allowed():
            portion = await platform.wakeups.first(service.topic_of(wanted), look, QUIET_SECONDS)
            yield portion.text or b": still here\n\n"
            place = portion.end
            await asyncio.sleep(0)  # first everybody gets what there is, then everybody waits for the next


async def _shared(database: Database, scope: Scope, wanted: EventFilter, after: Place) -> Look[Portion]:
    """One question for all who ask it at this moment; nobody takes the answer with them when they leave."""
    question = (database, scope, wanted, after)
    task = _coming.get(question)
    if task is None:
        task = _coming[question] = asyncio.create_task(_ask(question))
    return await asyncio.shield(task)


async def _ask(question: _Question) -> Look[Portion]:
    database, scope, wanted, after = question
    try:
        async with database.connection(scope) as connection:
            # From here on newcomers need a look of their own: this one may end before what woke them was there.
            _close(question)
            seen = await service.event_look(connection, wanted, after, PORTION)
    finally:
        _close(question)
    return Look(_portion(seen.found, after), seen.enough, seen.again)


def _close(question: _Question) -> None:
    """Nobody joins this task any more; whoever asks the same by now has a task of their own, which stays open."""
    if _coming.get(question) is asyncio.current_task():
        del _coming[question]


def _portion(events: list[Event], after: Place) -> Portion:
    end = service.parse_cursor(events[-1].cursor) if events else None
    return Portion(b"".join(map(_frame, events)), end or after)


def _frame(event: Event) -> bytes:
    body = event.__pydantic_serializer__.to_json(event)
    return b"id: " + event.cursor.encode() + b"\nevent: " + event.type.encode() + b"\ndata: " + body + b"\n\n"
