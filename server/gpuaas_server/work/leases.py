"""Leases on work rows: take, renew, finish, all by compare-and-set on the fencing token."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from psycopg import AsyncCursor

from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.rows import execute_scalar, fetch_all, fetch_value
from gpuaas_server.work.lanes import DueRow, Lane, lane_of

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
    lane: Lane = Lane.INTERACTIVE
    flow: str = ""

    def __post_init__(self) -> None:
        """Accept the number by which the database stores a lane."""
        object.__setattr__(self, "lane", Lane(self.lane))


@dataclass(frozen=True, slots=True)
class _PassedFlow:
    """A flow that was visited, with one due row of it; without a due row, the other columns are NULL."""

    passed: str
    id: str | None
    lane: int
    flow: str
    run_at: datetime


@dataclass(frozen=True, slots=True)
class _LaneBacklog:
    """Counts the due rows that wait in a lane, and says since when the oldest does."""

    lane: int
    waiting: int
    oldest: datetime | None


class LeaseLost(Exception):
    """Another worker took the lease over: drop the result, change nothing."""


# Whose share of the slots a row uses: the tenant that is said, else that of the transaction's scope; the platform's is empty.
_FLOW = "coalesce({}, current_setting('gpuaas.tenant', true), '')"


async def enqueue(
    tx: Tx,
    kind: str,
    subjects: Sequence[str],
    run_at: datetime | None = None,
    *,
    lane: Lane | None = None,
    flow: str | None = None,
) -> None:
    """Ask for work on the subjects, now or at `run_at`. A second request makes no second row; one during a lease makes the row
    run again.

    A row that exists keeps its flow, and stays in the more urgent of the two lanes.
    """
    tx.wakeups.add(TOPIC)
    await tx.connection.execute(
        "INSERT INTO work_items AS w (id, kind, subject, run_at, correlation_id, lane, flow)"
        f" SELECT i, %s, s, %s, %s, %s, {_FLOW.format('%s::text')} FROM unnest(%s::text[], %s::text[]) AS n(i, s)"
        " ON CONFLICT (kind, subject) DO UPDATE SET wanted = w.wanted + 1,"
        " run_at = CASE WHEN w.lease_until > %s THEN w.run_at ELSE LEAST(w.run_at, EXCLUDED.run_at) END,"
        " lane = LEAST(w.lane, EXCLUDED.lane), flow = COALESCE(NULLIF(w.flow, ''), EXCLUDED.flow),"
        " correlation_id = EXCLUDED.correlation_id",
        (
            kind,
            run_at or tx.now,
            tx.actor.correlation_id,
            lane_of(kind) if lane is None else lane,
            flow,
            [new_id("wrk") for _ in subjects],
            list(subjects),
            tx.now,
        ),
    )


async def wake(tx: Tx, kind: str, subjects: Sequence[str]) -> None:
    """Make rows of the subjects due now, where there are any.

    A row that a transaction has locked is left as it is, so that nobody waits in a circle. Caller must hold a lock that the
    row's reconciler takes before it reads what has changed: whoever applies it now reads the change afterwards.
    """
    tx.wakeups.add(TOPIC)
    await tx.connection.execute(
        "UPDATE work_items w SET wanted = w.wanted + 1,"
        " run_at = CASE WHEN w.lease_until > %(now)s THEN w.run_at ELSE LEAST(w.run_at, %(now)s) END"
        " FROM (SELECT id FROM work_items WHERE kind = %(kind)s AND subject = ANY(%(subjects)s)"
        "   ORDER BY id FOR UPDATE SKIP LOCKED) AS free WHERE w.id = free.id",
        {"now": tx.now, "kind": kind, "subjects": list(subjects)},
    )


_NEW = (
    "INSERT INTO work_items (id, kind, subject, run_at, correlation_id, lane, flow)"
    f" SELECT id, kind, subject, run_at, correlation_id, lane, {_FLOW.format('flow')} FROM jsonb_to_recordset(%s::jsonb)"
    " AS r(id text, kind text, subject text, run_at timestamptz, correlation_id text, lane smallint, flow text)"
)


def enqueue_new(tx: Tx, kind: str, subjects: Sequence[str], flow: str | None = None) -> None:
    """Enqueue subjects that this transaction creates, as `enqueue` does: no other request can name them yet."""
    tx.wakeups.add(TOPIC)
    same: dict[str, object] = {
        "kind": kind,
        "run_at": tx.now,
        "correlation_id": tx.actor.correlation_id,
        "lane": int(lane_of(kind)),
        "flow": flow,
    }
    tx.later.insert(_NEW, [{"id": new_id("wrk"), "subject": subject, **same} for subject in subjects])


# Statements name an indexed column only where they want its index; elsewhere as an expression (`kind || ''`, and `lane + 0`,
# which the index in the order of time has). Where old statistics take a kind, a lane or a flow for rare, PostgreSQL would
# otherwise read and sort the whole backlog instead of the first few rows of the index that has the order.
_FREE = "run_at <= %(now)s AND kind || '' = ANY(%(kinds)s) AND (lease_until IS NULL OR lease_until <= %(now)s)"
FLOWS_AT_ONCE = 32  # so many flows are looked at in one round, whatever the number of tenants


async def due_rows(
    connection: Connection, kinds: Sequence[str], now: datetime, most: Mapping[Lane, int]
) -> list[DueRow]:
    """Return the oldest due rows of each lane, at most `most` of a lane."""
    return await fetch_all(
        connection,
        DueRow,
        "SELECT w.id, w.lane, w.flow, w.run_at FROM unnest(%(lanes)s::smallint[], %(most)s::int[]) AS l(lane, most)"
        " CROSS JOIN LATERAL (SELECT id, lane, flow, run_at FROM work_items"
        f"   WHERE lane + 0 = l.lane AND {_FREE} ORDER BY run_at LIMIT l.most) w",
        {"lanes": [int(lane) for lane in most], "most": list(most.values()), "now": now, "kinds": list(kinds)},
    )


async def due_rows_by_flow(
    connection: Connection, kinds: Sequence[str], now: datetime, lane: Lane, most: int, first: str
) -> tuple[list[DueRow], str]:
    """Return the oldest due rows of each flow of a crowded lane, from flow `first` on, and the flow to begin with next time.

    The statement steps from flow to flow in the index: the cost does not grow with the backlog. A flow is named as a range,
    in which only that index has the order.
    """
    rows = await fetch_all(
        connection,
        _PassedFlow,
        "WITH RECURSIVE flows AS ("
        " (SELECT flow, 1 AS n FROM work_items WHERE lane = %(lane)s AND flow >= %(first)s ORDER BY flow LIMIT 1)"
        " UNION ALL SELECT (SELECT w.flow FROM work_items w WHERE w.lane = %(lane)s AND w.flow > f.flow"
        "   ORDER BY w.flow LIMIT 1), f.n + 1 FROM flows f WHERE f.flow IS NOT NULL AND f.n < %(flows)s)"
        " SELECT f.flow AS passed, w.* FROM flows f LEFT JOIN LATERAL (SELECT id, lane, flow, run_at FROM work_items"
        f"   WHERE lane = %(lane)s AND flow BETWEEN f.flow AND f.flow AND {_FREE}"
        "   ORDER BY flow, run_at LIMIT %(most)s) w ON true"
        " WHERE f.flow IS NOT NULL",
        {
            "lane": int(lane),
            "first": first,
            "flows": FLOWS_AT_ONCE,
            "now": now,
            "kinds": list(kinds),
            "most": most,
        },
    )
    passed = sorted({row.passed for row in rows})
    again = passed[-1] if len(passed) == FLOWS_AT_ONCE else ""
    return [DueRow(row.id, Lane(row.lane), row.flow, row.run_at) for row in rows if row.id is not None], again


_TAKE = (
    " UPDATE work_items w SET lease_token = w.lease_token + 1, leased_by = %(owner)s, lease_until = %(until)s,"
    "   attempts = w.attempts + 1 FROM due WHERE w.id = due.id"
    " RETURNING w.id, w.kind, w.subject, w.lease_token AS token, w.wanted, w.attempts, w.correlation_id,"
    "   due.run_at AS due_at, w.lane, w.flow"
)


async def take(
    connection: Connection,
    kinds: Sequence[str],
    owner: str,
    now: datetime,
    seconds: float,
    limit: int,
    lanes: Sequence[Lane] = tuple(Lane),
) -> list[Lease]:
    """Lease the oldest due rows, of whichever flow."""
    return await fetch_all(
        connection,
        Lease,
        "WITH due AS (SELECT d.id, d.run_at FROM unnest(%(lanes)s::smallint[]) AS l(lane) CROSS JOIN LATERAL"
        f"  (SELECT id, run_at FROM work_items WHERE lane + 0 = l.lane AND {_FREE}"
        "    ORDER BY run_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED) d LIMIT %(limit)s)" + _TAKE,
        {
            "lanes": [int(lane) for lane in lanes],
            "limit": limit,
            "now": now,
            "kinds": list(kinds),
            "owner": owner,
            "until": now + timedelta(seconds=seconds),
        },
    )


async def take_chosen(
    connection: Connection, kinds: Sequence[str], owner: str, now: datetime, seconds: float, chosen: Sequence[str]
) -> list[Lease]:
    """Lease these rows. Rows that another worker leased first are not in the answer."""
    return await fetch_all(
        connection,
        Lease,
        f"WITH due AS (SELECT id, run_at FROM work_items WHERE id = ANY(%(chosen)s) AND {_FREE}"
        "   ORDER BY id FOR UPDATE SKIP LOCKED)" + _TAKE,
        {
            "chosen": list(chosen),
            "now": now,
            "kinds": list(kinds),
            "owner": owner,
            "until": now + timedelta(seconds=seconds),
        },
    )


async def renew(connection: Connection, lease: Lease, until: datetime) -> None:
    cursor = await connection.execute(
        # Skip a finished row: a heartbeat that waited for the apply must not extend a lease that nobody holds.
        "UPDATE work_items SET lease_until = %s WHERE id = %s AND lease_token = %s AND lease_until IS NOT NULL",
        (until, lease.id, lease.token),
    )
    if cursor.rowcount == 0:
        raise LeaseLost(lease.subject)


async def guard(tx: Tx, taken: Sequence[Lease]) -> AsyncCursor[str]:
    """Lock the leased rows, so that no other worker can take them over before the commit: the first statement of every apply.

    Its answer, the rows that are still ours, travels with that of the next statement; `ours` reads it.
    """
    return await execute_scalar(
        tx.connection,
        str,
        "SELECT w.id FROM unnest(%s::text[], %s::bigint[]) AS l(id, token)"
        " JOIN work_items w ON w.id = l.id AND w.lease_token = l.token ORDER BY w.id FOR UPDATE OF w",
        ([lease.id for lease in taken], [lease.token for lease in taken]),
    )


async def ours(guarded: AsyncCursor[str]) -> set[str]:
    return set(await guarded.fetchall())


async def finish(tx: Tx, ends: Sequence[tuple[Lease, datetime | None]]) -> AsyncCursor[datetime]:
    """Release leases. A lease without a time is done: its row goes, unless work was asked for again meanwhile.

    The answer, to be read after the commit, has the times at which the remaining rows are due.
    """
    done = [lease for lease, again_at in ends if again_at is None]
    if done:
        await tx.connection.execute(
            "DELETE FROM work_items w USING unnest(%s::text[], %s::bigint[], %s::bigint[]) AS l(id, token, wanted)"
            " WHERE w.id = l.id AND w.lease_token = l.token AND w.wanted = l.wanted",
            ([lease.id for lease in done], [lease.token for lease in done], [lease.wanted for lease in done]),
        )
    return await execute_scalar(
        tx.connection,
        datetime,
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


async def next_due(
    connection: Connection, kinds: Sequence[str], lanes: Sequence[Lane] = tuple(Lane)
) -> datetime | None:
    """Return the time at which the next row becomes due: an unleased one at run_at, a leased one when its lease lapses."""
    return await fetch_value(
        connection,
        datetime,
        "SELECT min(GREATEST(s.run_at, s.lease_until)) FROM unnest(%s::smallint[]) AS l(lane) CROSS JOIN LATERAL"
        " (SELECT run_at, lease_until FROM work_items WHERE lane + 0 = l.lane AND kind || '' = ANY(%s)"
        "   ORDER BY run_at LIMIT 100) s",
        ([int(lane) for lane in lanes], list(kinds)),
    )


MOST_COUNTED = 1000  # of what waits in a lane, so that counting costs little when much does


async def backlog(connection: Connection, now: datetime) -> dict[Lane, tuple[int, float]]:
    """Count for each lane the due rows that wait for a slot (`MOST_COUNTED` at most), and the seconds of the oldest."""
    rows = await fetch_all(
        connection,
        _LaneBacklog,
        "SELECT l.lane, count(w.run_at) AS waiting, min(w.run_at) AS oldest FROM unnest(%(lanes)s::smallint[]) AS l(lane)"
        " LEFT JOIN LATERAL (SELECT run_at FROM work_items WHERE lane + 0 = l.lane AND run_at <= %(now)s"
        "   AND (lease_until IS NULL OR lease_until <= %(now)s) ORDER BY run_at LIMIT %(most)s) w ON true GROUP BY l.lane",
        {"lanes": [int(lane) for lane in Lane], "now": now, "most": MOST_COUNTED},
    )
    return {
        Lane(row.lane): (row.waiting, 0.0 if row.oldest is None else (now - row.oldest).total_seconds()) for row in rows
    }
