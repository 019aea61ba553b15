"""All SQL of the event log.

Concurrent transactions commit in another order than they drew their sequence numbers, so a reader that remembers only the
highest number would skip rows. A position is therefore (transaction id, sequence), and a reader sees only transactions below
the oldest one still running: nothing can appear behind a cursor.
"""

from datetime import datetime

from gpuaas_server.kernel.database import Connection, rows_removed
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.rows import columns_of, fetch_all, fetch_one, fetch_optional, fetch_value, recordset_insert

_SETTLED = "transaction_id < pg_snapshot_xmin(pg_current_snapshot())::text::bigint"


@dataclass(frozen=True, slots=True)
class EventPosition:
    """A position in the event log."""

    transaction_id: int = 0
    sequence: int = 0

    def __str__(self) -> str:
        return f"{self.transaction_id}.{self.sequence}"


@dataclass(frozen=True, slots=True)
class InsertedEvent:
    """The columns that the writer of an event gives; the database adds its position in the log."""

    id: str
    time: datetime
    type: str
    subject: str
    tenant_id: str | None
    project_id: str | None
    correlation_id: str
    data: dict[str, object]


@dataclass(frozen=True, slots=True)
class EventRow(InsertedEvent):
    """An event with its position in the log."""

    transaction_id: int
    sequence: int


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Chooses which events are read; a field that is None does not restrict them."""

    project_id: str | None = None
    subject: str | None = None

    def clauses(self) -> tuple[list[str], list[object]]:
        """Return the conditions in SQL with their values; one of them always excludes unsettled transactions."""
        chosen = {name: getattr(self, name) for name in self.__slots__ if getattr(self, name) is not None}
        return [_SETTLED, *(f"{name} = %s" for name in chosen)], list(chosen.values())


EVENT_INSERT = recordset_insert("events", InsertedEvent)


async def event_list(connection: Connection, wanted: EventFilter, after: EventPosition, limit: int) -> list[EventRow]:
    clauses, values = wanted.clauses()
    clauses.append("(transaction_id, sequence) > (%s, %s)")
    values += [after.transaction_id, after.sequence]
    return await fetch_all(
        connection,
        EventRow,
        f"SELECT {columns_of(EventRow)} FROM events WHERE {' AND '.join(clauses)}"
        " ORDER BY transaction_id, sequence LIMIT %s",
        [*values, limit],
    )


async def event_tail(connection: Connection, wanted: EventFilter, count: int) -> list[EventRow]:
    """Return the last events, oldest first."""
    clauses, values = wanted.clauses()
    newest = await fetch_all(
        connection,
        EventRow,
        f"SELECT {columns_of(EventRow)} FROM events WHERE {' AND '.join(clauses)}"
        " ORDER BY transaction_id DESC, sequence DESC LIMIT %s",
        [*values, count],
    )
    return newest[::-1]


async def event_unsettled(connection: Connection, wanted: EventFilter, after: EventPosition) -> bool:
    """Tell whether there is an event after the position, settled or not.

    A reader that has found none looks again soon if there is: an event that waited for an older transaction may have been
    settled since, and no wake-up tells of that.
    """
    clauses, values = wanted.clauses()
    clauses[0] = "(transaction_id, sequence) > (%s, %s)"
    waiting = await fetch_value(
        connection,
        bool,
        f"SELECT EXISTS (SELECT 1 FROM events WHERE {' AND '.join(clauses)})",
        [after.transaction_id, after.sequence, *values],
    )
    return bool(waiting)


async def event_end(connection: Connection) -> EventPosition:
    """Return the position just before the next event."""
    last = await fetch_optional(
        connection,
        EventPosition,
        f"SELECT {columns_of(EventPosition)} FROM events WHERE {_SETTLED} ORDER BY transaction_id DESC, sequence DESC LIMIT 1",
    )
    return last or EventPosition()


async def event_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    """Delete a portion of the oldest events."""
    return await rows_removed(
        connection,
        "DELETE FROM events WHERE id = ANY(ARRAY(SELECT id FROM events WHERE time < %s ORDER BY time LIMIT %s))",
        (before, portion),
    )


async def consumer_position(connection: Connection, name: str) -> EventPosition:
    return await fetch_one(
        connection,
        EventPosition,
        "INSERT INTO outbox_consumers AS c (name, transaction_id, sequence) VALUES (%s, 0, 0)"
        f" ON CONFLICT (name) DO UPDATE SET name = c.name RETURNING {columns_of(EventPosition)}",
        (name,),
    )


async def consumer_advance(connection: Connection, name: str, position: EventPosition) -> None:
    await connection.execute(
        "UPDATE outbox_consumers SET transaction_id = %s, sequence = %s WHERE name = %s",
        (position.transaction_id, position.sequence, name),
    )
