"""Leases on work rows: take, renew, finish, all by compare-and-set on the fencing token."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from psycopg import AsyncCursor
from psycopg.rows import DictRow

from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.ids import new_id

TOPIC = "work"


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to act on one work row until `until`, provable by `token`."""

    id: str
    kind: str
    subject: str
    token: int
    wanted: int
    attempts: int
    correlation_id: str
    due_at: datetime


class LeaseLost(Exception):
    """Another owner took over: drop the result, change nothing."""


async def enqueue(tx: Tx, kind: str, subjects: Sequence[str], run_at: datetime | None = None) -> None:
    """Ask for attention, now or at `run_at`. Asking twice is one row; asking during a lease makes it run again."""
    tx.wakeups.add(TOPIC)
    await tx.connection.execute(
        "INSERT INTO work_items AS w (id, kind, subject, run_at, correlation_id)"
        " SELECT i, %s, s, %s, %s FROM unnest(%s::text[], %s::text[]) AS n(i, s)"
        " ON CONFLICT (kind, subject) DO UPDATE SET wanted = w.wanted + 1,"
        " run_at = CASE WHEN w.lease_until > %s THEN w.run_at ELSE LEAST(w.run_at, EXCLUDED.run_at) END,"
        " correlation_id = EXCLUDED.correlation_id",
        (
            kind,
            run_at or tx.now,
            tx.actor.correlation_id,
            [new_id("wrk") for _ in subjects],
            list(subjects),
            tx.now,
        ),
    )


_NEW = (
    "INSERT INTO work_items (id, kind, subject, run_at, correlation_id) SELECT * FROM jsonb_to_recordset(%s::jsonb)"
    " AS r(id text, kind text, subject text, run_at timestamptz, correlation_id text)"
)


def enqueue_new(tx: Tx, kind: str, subjects: Sequence[str]) -> None:
    """As `enqueue`, for subjects that this transaction makes: nobody can have asked for them before."""
    tx.wakeups.add(TOPIC)
    same: dict[str, object] = {"kind": kind, "run_at": tx.now, "correlation_id": tx.actor.correlation_id}
    tx.later.insert(_NEW, [{"id": new_id("wrk"), "subject": subject, **same} for subject in subjects])


async def take(
    connection: Connection, kinds: Sequence[str], owner: str, now: datetime, seconds: float, limit: int
) -> list[Lease]:
    cursor = await connection.execute(
        "WITH due AS (SELECT id, run_at FROM work_items WHERE run_at <= %s AND kind = ANY(%s)"
        "   AND (lease_until IS NULL OR lease_until <= %s) ORDER BY run_at LIMIT %s FOR UPDATE SKIP LOCKED)"
        " UPDATE work_items w SET lease_token = w.lease_token + 1, leased_by = %s, lease_until = %s,"
        "   attempts = w.attempts + 1 FROM due WHERE w.id = due.id"
        " RETURNING w.id, w.kind, w.subject, w.lease_token AS token, w.wanted, w.attempts, w.correlation_id,"
        "   due.run_at AS due_at",
        (now, list(kinds), now, limit, owner, now + timedelta(seconds=seconds)),
    )
    return [Lease(**row) for row in await cursor.fetchall()]


async def renew(connection: Connection, lease: Lease, until: datetime) -> None:
    cursor = await connection.execute(
        # Not what is finished already: a heartbeat that waited for the apply would lock the row away for nobody.
        "UPDATE work_items SET lease_until = %s WHERE id = %s AND lease_token = %s AND lease_until IS NOT NULL",
        (until, lease.id, lease.token),
    )
    if cursor.rowcount == 0:
        raise LeaseLost(lease.subject)


async def guard(tx: Tx, taken: Sequence[Lease]) -> AsyncCursor[DictRow]:
    """First statement of every apply: locks the rows, so that nobody can take over before we commit.

    Its answer, the rows that are still ours, travels with that of the next statement; `ours` reads it.
    """
    return await tx.connection.execute(
        "SELECT w.id FROM unnest(%s::text[], %s::bigint[]) AS l(id, token)"
        " JOIN work_items w ON w.id = l.id AND w.lease_token = l.token ORDER BY w.id FOR UPDATE OF w",
        ([lease.id for lease in taken], [lease.token for lease in taken]),
    )


async def ours(guarded: AsyncCursor[DictRow]) -> set[str]:
    return {row["id"] for row in await guarded.fetchall()}


async def finish(tx: Tx, ends: Sequence[tuple[Lease, datetime | None]]) -> AsyncCursor[DictRow]:
    """Release leases. None: the work is done, and the row goes unless somebody asked again meanwhile.

    The answer, to be read after the commit, has the rows that stay, each with the time at which it is due.
    """
    done = [lease for lease, again_at in ends if again_at is None]
    if done:
        await tx.connection.execute(
            "DELETE FROM work_items w USING unnest(%s::text[], %s::bigint[], %s::bigint[]) AS l(id, token, wanted)"
            " WHERE w.id = l.id AND w.lease_token = l.token AND w.wanted = l.wanted",
            ([lease.id for lease in done], [lease.token for lease in done], [lease.wanted for lease in done]),
        )
    return await tx.connection.execute(
        "UPDATE work_items w SET lease_until = NULL, leased_by = NULL, attempts = 0, last_error = NULL,"
        " run_at = CASE WHEN w.wanted <> l.wanted THEN %s ELSE l.again_at END"
        " FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::timestamptz[]) AS l(id, token, wanted, again_at)"
        " WHERE w.id = l.id AND w.lease_token = l.token RETURNING w.run_at",
        (
            tx.now,
            [lease.id for lease, _ in ends],
            [lease.token for lease, _ in ends],
            [lease.wanted for lease, _ in ends],
            [again_at or tx.now for _, again_at in ends],
        ),
    )


async def fail(connection: Connection, lease: Lease, error: str, again_at: datetime) -> None:
    await connection.execute(
        "UPDATE work_items SET lease_until = NULL, leased_by = NULL, last_error = %s,"
        " run_at = CASE WHEN wanted <> %s THEN LEAST(run_at, %s) ELSE %s END WHERE id = %s AND lease_token = %s",
        (error[:500], lease.wanted, again_at, again_at, lease.id, lease.token),
    )


async def next_due(connection: Connection, kinds: Sequence[str]) -> datetime | None:
    """When the next row becomes due: unleased ones at run_at, leased ones when their lease lapses."""
    cursor = await connection.execute(
        "SELECT min(GREATEST(run_at, lease_until)) AS at FROM"
        " (SELECT run_at, lease_until FROM work_items WHERE kind = ANY(%s) ORDER BY run_at LIMIT 100) soon",
        (list(kinds),),
    )
    row = await cursor.fetchone()
    due: datetime | None = row["at"] if row else None
    return due
