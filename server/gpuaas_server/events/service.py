"""Emit events inside a change, and read them: once, or waiting; streams.py makes a stream of it."""

from dataclasses import field
from datetime import datetime

from gpuaas_server.events import queries
from gpuaas_server.events.queries import EventFilter, EventPosition, EventRow, InsertedEvent
from gpuaas_server.events.schemas import Event, EventPage
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Connection, Scope
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.kernel.wakeups import LONGEST_PAUSE, PollResult

ALL = "events"
UNSETTLED_PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to emit."""

    type: str
    subject: str
    tenant_id: str | None = None
    project_id: str | None = None
    data: dict[str, object] = field(default_factory=dict)


async def emit(tx: Tx, *news: NewEvent) -> None:
    rows = [
        InsertedEvent(
            id=new_id("evt"),
            time=tx.now,
            type=new.type,
            subject=new.subject,
            tenant_id=new.tenant_id,
            project_id=new.project_id,
            correlation_id=tx.actor.correlation_id,
            data=new.data,
        )
        for new in news
    ]
    tx.later.insert(queries.EVENT_INSERT, rows)
    tx.wakeups.add(ALL)
    tx.wakeups.update(f"{ALL}:{about}" for new in news for about in (new.project_id, new.subject) if about)


def parse_cursor(text: str | None) -> EventPosition | None:
    if text is None:
        return None
    transaction, dot, sequence = text.partition(".")
    if not (dot and transaction.isdigit() and sequence.isdigit() and len(text) <= 40):
        raise Problem("invalid_cursor")
    position = EventPosition(int(transaction), int(sequence))
    if max(position.transaction_id, position.sequence) >= 2**63:
        raise Problem("invalid_cursor")
    return position


def topic_of(wanted: EventFilter) -> str:
    """Return the topic that wakes readers of such events: a reader of one subject is not woken for others."""
    about = wanted.subject or wanted.project_id
    return f"{ALL}:{about}" if about else ALL


async def event_page(
    platform: Platform, scope: Scope, wanted: EventFilter, after: EventPosition, wait: float, limit: int
) -> EventPage:
    """Return the events after the position; when there are none, wait up to `wait` seconds for the first."""

    async def read() -> PollResult[list[Event]]:
        async with platform.database.connection(scope) as connection:
            return await event_look(connection, wanted, after, limit)

    return _page(await platform.wakeups.long_poll(topic_of(wanted), read, wait), after)


async def event_look(
    connection: Connection, wanted: EventFilter, after: EventPosition, limit: int
) -> PollResult[list[Event]]:
    rows = await queries.event_list(connection, wanted, after, limit)
    unsettled = not rows and await queries.event_unsettled(connection, wanted, after)
    return PollResult([_event(row) for row in rows], bool(rows), UNSETTLED_PAUSE if unsettled else LONGEST_PAUSE)


async def event_tail(platform: Platform, scope: Scope, wanted: EventFilter, count: int) -> EventPage:
    """Return the last `count` events. The cursor of the answer continues from now, also when there were none."""
    async with platform.database.connection(scope) as connection:
        end = await queries.event_end(connection)
        rows = await queries.event_tail(connection, wanted, count) if count else []
    return _page([_event(row) for row in rows], end)


def _page(items: list[Event], after: EventPosition) -> EventPage:
    return EventPage(items=items, next_cursor=items[-1].cursor if items else str(after))


def _event(row: EventRow) -> Event:
    return Event(cursor=str(EventPosition(row.transaction_id, row.sequence)), **fields_of(row))


async def forget_before(tx: Tx, before: datetime, portion: int) -> int:
    return await queries.event_delete_before(tx.connection, before, portion)


__all__ = [
    "EventFilter",
    "EventPosition",
    "NewEvent",
    "emit",
    "event_look",
    "event_page",
    "event_tail",
    "forget_before",
    "parse_cursor",
    "topic_of",
]
