"""All SQL of the event log.

Concurrent transactions commit in another order than they drew their sequence numbers, so a reader that remembers only the
highest number would skip rows. A place is therefore (transaction id, sequence), and a reader sees only transactions below
the oldest one still running: nothing can appear behind a cursor.
"""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_server.kernel.database import Connection, rows_removed
from gpuaas_server.kernel.rows import columns_of, fetch_all, fetch_one, fetch_optional, fetch_value, recordset_insert

_SETTLED = "transaction_id < pg_snapshot_xmin(pg_current_snapshot())::text::bigint"


@dataclass(frozen=True, slots=True)
class Place:
    transaction_id: int = 0
    sequence: int = 0

    def __str__(self) -> str:
        return f"{self.transaction_id}.{self.sequence}"


@dataclass(frozen=True, slots=True)
class InsertedEvent:
    """The columns that the writer of an event gives; the database adds its place in the log."""

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
    transaction_id: int
    sequence: int


@dataclass(frozen=True, slots=True)
class EventFilter:
    project_id: str | None = None
    subject: str | None = None

    def clauses(self) -> tuple[list[str], list[object]]:
        """Conditions in SQL, always with the one that keeps unsettled transactions out, and their values."""
        chosen = {name: getattr(self, name) for name in self.__slots__ if getattr(self, name) is not None}
        return [_SETTLED, *(f"{name} = %s" for name in chosen)], list(chosen.values())


EVENT_INSERT = recordset_insert("events", InsertedEvent)


async def event_list(connection: Connection, wanted: EventFilter, after: Place, limit: int) -> list[EventRow]:
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
    """The last events, oldest first."""
    clauses, values = wanted.clauses()
    newest = await fetch_all(
        connection,
        EventRow,
        f"SELECT {columns_of(EventRow)} FROM events WHERE {' AND '.join(clauses)}"
        " ORDER BY transaction_id DESC, sequence DESC LIMIT %s",
        [*values, count],
    )
    return newest[::-1]


async def event_unsettled(connection: Connection, wanted: EventFilter, after: Place) -> bool:
    """Whether there is an event after the place, settled or not: for a reader who has just found none, which then looks again
    soon. An event that waited for an older transaction may have been settled since, and nobody is woken for that.
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


async def event_end(connection: Connection) -> Place:
    """The place just before whatever comes next."""
    last = await fetch_optional(
        connection,
        Place,
        f"SELECT {columns_of(Place)} FROM events WHERE {_SETTLED} ORDER BY transaction_id DESC, sequence DESC LIMIT 1",
    )
    return last or Place()


async def event_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    """The oldest first."""
    return await rows_removed(
        connection,
        "DELETE FROM events WHERE id = ANY(ARRAY(SELECT id FROM events WHERE time < %s ORDER BY time LIMIT %s))",
        (before, portion),
    )


async def consumer_place(connection: Connection, name: str) -> Place:
    return await fetch_one(
        connection,
        Place,
        "INSERT INTO outbox_consumers AS c (name, transaction_id, sequence) VALUES (%s, 0, 0)"
        f" ON CONFLICT (name) DO UPDATE SET name = c.name RETURNING {columns_of(Place)}",
        (name,),
    )


async def consumer_advance(connection: Connection, name: str, place: Place) -> None:
    await connection.execute(
        "UPDATE outbox_consumers SET transaction_id = %s, sequence = %s WHERE name = %s",
        (place.transaction_id, place.sequence, name),
    )
