"""Server-sent events. Thousands of readers may watch the same subject: they share one query and its encoded bytes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

from gpuaas_server.events import service
from gpuaas_server.events.queries import EventFilter, EventPosition
from gpuaas_server.events.schemas import Event
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import Database, Scope
from gpuaas_server.kernel.database_health import OUTAGE_ERRORS
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.wakeups import PollResult

QUIET_SECONDS = 15.0
PORTION = 200


@dataclass(frozen=True, slots=True)
class Portion:
    """Encoded events after a position in the log, and the position of the last one."""

    text: bytes
    end: EventPosition


# Equal questions have equal answers: the scope decides which rows the database shows, and it is part of the question.
_Question = tuple[Database, Scope, EventFilter, EventPosition]
_coming: dict[_Question, asyncio.Task[PollResult[Portion]]] = {}


async def event_stream(
    platform: Platform, scope: Scope, wanted: EventFilter, after: EventPosition, allowed: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    """Stream events. A comment every 15 s keeps the connection alive; Last-Event-ID resumes it.

    The stream ends with the caller's token or role: `allowed` is asked before each query.
    """
    yield b": stream open\n\n"
    position = after

    async def read() -> PollResult[Portion]:
        return await _shared(platform.database, scope, wanted, position)

    with suppress(
        *OUTAGE_ERRORS
    ):  # the stream ends; the client reconnects with its last cursor, and gets the error then
        while not platform.wakeups.ending and await allowed():
            portion = await platform.wakeups.long_poll(service.topic_of(wanted), read, QUIET_SECONDS)
            yield portion.text or b": still here\n\n"
            position = portion.end
            await asyncio.sleep(0)  # all streams send this portion before one of them waits for the next


async def _shared(database: Database, scope: Scope, wanted: EventFilter, after: EventPosition) -> PollResult[Portion]:
    """Share one query between all readers that ask the same at this moment. A reader that leaves does not cancel it."""
    question = (database, scope, wanted, after)
    task = _coming.get(question)
    if task is None:
        task = _coming[question] = asyncio.create_task(_ask(question))
        # Its readers raise what it raises. When all have left, nobody asks any more.
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return await asyncio.shield(task)


async def _ask(question: _Question) -> PollResult[Portion]:
    database, scope, wanted, after = question
    try:
        async with database.connection(scope) as connection:
            # From here on newcomers need a look of their own: this one may end before what woke them was there.
            _close(question)
            seen = await service.event_look(connection, wanted, after, PORTION)
    finally:
        _close(question)
    return PollResult(_portion(seen.found, after), seen.enough, seen.again)


def _close(question: _Question) -> None:
    """Let nobody else join this task. A reader that asks the same from now on starts a task of its own."""
    if _coming.get(question) is asyncio.current_task():
        del _coming[question]


def _portion(events: list[Event], after: EventPosition) -> Portion:
    end = service.parse_cursor(events[-1].cursor) if events else None
    return Portion(b"".join(map(_frame, events)), end or after)


def _frame(event: Event) -> bytes:
    body = event.__pydantic_serializer__.to_json(event)
    return b"id: " + event.cursor.encode() + b"\nevent: " + event.type.encode() + b"\ndata: " + body + b"\n\n"
