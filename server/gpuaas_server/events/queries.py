"""All SQL of the event log.

Concurrent transactions commit in another order than they drew their sequence numbers, so a reader that remembers only the
highest number would skip rows. A place is therefore (transaction id, sequence), and a reader sees only transactions below
the oldest one still running: nothing can appear behind a cursor.
"""

from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection, rows_removed

_COLUMNS = "id, transaction_id, sequence, time, type, subject, tenant_id, project_id, correlation_id, data"
_SETTLED = "transaction_id < pg_snapshot_xmin(pg_current_snapshot())::text::bigint"


@dataclass(frozen=True, slots=True)
class Place:
    transaction_id: int = 0
    sequence: int = 0

    def __str__(self) -> str:
        return f"{self.transaction_id}.{self.sequence}"


@dataclass(frozen=True, slots=True)
class EventFilter:
    project_id: str | None = None
    subject: str | None = None

    def clauses(self) -> tuple[list[str], list[object]]:
        """Conditions in SQL, always with the one that keeps unsettled transactions out, and their values."""
        chosen = {name: getattr(self, name) for name in self.__slots__ if getattr(self, name) is not None}
        return [_SETTLED, *(f"{name} = %s" for name in chosen)], list(chosen.values())


EVENT_INSERT = (
    "INSERT INTO events (id, time, type, subject, tenant_id, project_id, correlation_id, data)"
    " SELECT * FROM jsonb_to_recordset(%s::jsonb) AS r(id text, time timestamptz, type text, subject text,"
    " tenant_id text, project_id text, correlation_id text, data jsonb)"
)


async def event_list(connection: Connection, wanted: EventFilter, after: Place, limit: int) -> list[DictRow]:
    clauses, values = wanted.clauses()
    clauses.append("(transaction_id, sequence) > (%s, %s)")
    values += [after.transaction_id, after.sequence]
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM events WHERE {' AND '.join(clauses)} ORDER BY transaction_id, sequence LIMIT %s",
        [*values, limit],
    )
    return await cursor.fetchall()


async def event_tail(connection: Connection, wanted: EventFilter, count: int) -> list[DictRow]:
    """The last events, oldest first."""
    clauses, values = wanted.clauses()
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM events WHERE {' AND '.join(clauses)}"
        " ORDER BY transaction_id DESC, sequence DESC LIMIT %s",
        [*values, count],
    )
    return (await cursor.fetchall())[::-1]


async def event_unsettled(connection: Connection) -> bool:
    """Whether committed events wait for an older transaction to end; the reader then looks again soon."""
    cursor = await connection.execute(f"SELECT EXISTS (SELECT 1 FROM events WHERE NOT {_SETTLED}) AS waiting")
    row = await cursor.fetchone()
    return bool(row and row["waiting"])


async def event_end(connection: Connection) -> Place:
    """The place just before whatever comes next."""
    cursor = await connection.execute(
        f"SELECT transaction_id, sequence FROM events WHERE {_SETTLED}"
        " ORDER BY transaction_id DESC, sequence DESC LIMIT 1"
    )
    row = await cursor.fetchone()
    return Place(row["transaction_id"], row["sequence"]) if row else Place()


async def event_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    """The oldest first."""
    return await rows_removed(
        connection,
        "DELETE FROM events WHERE id = ANY(ARRAY(SELECT id FROM events WHERE time < %s ORDER BY time LIMIT %s))",
        (before, portion),
    )


async def consumer_place(connection: Connection, name: str) -> Place:
    cursor = await connection.execute(
        "INSERT INTO outbox_consumers AS c (name, transaction_id, sequence) VALUES (%s, 0, 0)"
        " ON CONFLICT (name) DO UPDATE SET name = c.name RETURNING transaction_id, sequence",
        (name,),
    )
    row = await cursor.fetchone()
    return Place(row["transaction_id"], row["sequence"]) if row else Place()


async def consumer_advance(connection: Connection, name: str, place: Place) -> None:
    await connection.execute(
        "UPDATE outbox_consumers SET transaction_id = %s, sequence = %s WHERE name = %s",
        (place.transaction_id, place.sequence, name),
    )
