"""Leases on work rows: take, renew, finish, all by compare-and-set on the fencing token."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

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


async def guard(tx: Tx, lease: Lease) -> None:
    """First statement of every apply: locks the row, so that nobody can take over before we commit."""
    cursor = await tx.connection.execute(
        "SELECT 1 FROM work_items WHERE id = %s AND lease_token = %s FOR UPDATE", (lease.id, lease.token)
    )
    if await cursor.fetchone() is None:
        raise LeaseLost(lease.subject)


async def finish(tx: Tx, lease: Lease, again_at: datetime | None) -> None:
    """Release the lease. None: the work is done, and the row goes unless somebody asked again meanwhile."""
    if again_at is None:
        await tx.connection.execute(
            "DELETE FROM work_items WHERE id = %s AND lease_token = %s AND wanted = %s",
            (lease.id, lease.token, lease.wanted),
        )
    await tx.connection.execute(
        "UPDATE work_items SET lease_until = NULL, leased_by = NULL, attempts = 0, last_error = NULL,"
        " run_at = CASE WHEN wanted <> %s THEN %s ELSE %s END WHERE id = %s AND lease_token = %s",
        (lease.wanted, tx.now, again_at or tx.now, lease.id, lease.token),
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
