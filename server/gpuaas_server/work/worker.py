"""The worker loop: take leases, load, decide, apply under the fencing token.

A reconciler that changes something outside the database does so in `act`, outside any transaction; every other step runs in
a single transaction, which begins by checking its lease.
"""

import asyncio
import logging
import os
import random
import socket
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from psycopg import Error
from psycopg.errors import DeadlockDetected

from gpuaas_server.kernel import metrics, tasks
from gpuaas_server.kernel.context import Platform, Tx, system_actor
from gpuaas_server.kernel.database import PLATFORM, Connection
from gpuaas_server.kernel.database_health import OUTAGE_ERRORS
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.logs import correlation_id
from gpuaas_server.work import lanes, leases
from gpuaas_server.work.lanes import Capacity, DueRow, Lane
from gpuaas_server.work.leases import Lease, LeaseLost
from gpuaas_server.work.reconcilers import ActingJob, ActingReconciler, BatchReconciler, Reconciler, WorkerStep

log = logging.getLogger(__name__)

DATABASE_ERRORS = (Error, Problem)  # the database, or a free connection to it
# The first row is taken at once; rows that come during the pause after a round are taken together. The pause is a multiple of
# the round's time, so that rounds take at most a third of the time; no row waits longer than the pause for its turn.
LONGEST_ROUND_PAUSE = 0.03
PAUSE_PER_ROUND = 2.0
BACKLOG_PAUSE = timedelta(seconds=5)  # between two looks at what the metrics say about the lanes
FLOWS_REMEMBERED = 1000  # of those whose turn was lately; one that is forgotten has waited longest
IDLE_LOOK = 30.0  # a wake-up may be lost with a killed process; look anyway


@dataclass(frozen=True, slots=True)
class _Unreleased:
    """A lease that an outage kept from being given back, with what to give it back with."""

    lease: Lease
    reason: str
    again_at: datetime


class Worker:
    def __init__(self, platform: Platform, steps: Sequence[WorkerStep]) -> None:
        self._platform = platform
        self._steps = {one.kind: one for one in steps}
        self._reconcilers = {one.kind: one for one in steps if isinstance(one, Reconciler)}
        self._jobs = {one.kind: one for one in steps if not isinstance(one, Reconciler | ActingJob)}
        self._acting = {one.kind: one for one in steps if isinstance(one, ActingReconciler | ActingJob)}
        self._batching = {one.kind: one for one in steps if isinstance(one, BatchReconciler)}
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{random.randbytes(3).hex()}"
        settings = platform.settings
        self._capacity = Capacity.of(settings.work_concurrency, settings.work_bulk_concurrency)
        self._running: dict[asyncio.Task[None], list[Lease]] = {}
        self._unreleased: dict[str, _Unreleased] = {}
        self._stopping = False
        self._short_of_slots = False  # something is due that found no slot: look again when one is free
        self._freed = False  # a slot came free since the last look began
        self._turns: dict[tuple[Lane, str], int] = {}  # of the flows that had one lately, in their order
        self._next_flow = dict.fromkeys(Lane, "")
        self._next_backlog = platform.clock()
        self._woken = asyncio.Event()
        self._next_look = platform.clock()

    async def run(self) -> None:
        """Run until cancelled. The loop waits for a wake-up, the next due time, or a free slot; it never spins."""
        async with self._platform.wakeups.waiting(leases.TOPIC) as self._woken:
            while not self._stopping:
                self._woken.clear()
                try:
                    wait = await self._round()
                except DATABASE_ERRORS as error:
                    if not self._platform.database.health.explains(error):
                        log.warning("no work could be taken, trying again", extra={"error": str(error)})
                    wait = 0.25
                await self._sleep(wait)

    async def stop(self) -> None:
        """Take nothing new, and let running work end."""
        self._stopping = True
        if self._running:
            await asyncio.wait(self._running, timeout=10)

    async def _round(self) -> float:
        """Lease what is due and start it. The answer is for how long there is nothing to do."""
        self._freed, begun = False, time.monotonic()
        kinds, now = list(self._steps), self._platform.clock()
        async with self._platform.database.connection(PLATFORM) as connection:
            await self._release_late(connection)
            waiting = await self._waiting(connection, kinds, now)
            chosen = lanes.choose(waiting, self._busy(), self._capacity, self._turns)
            crowded = lanes.lanes_without_slot(waiting, chosen) | self._full_lanes()
            taken = list[Lease]()
            try:
                await self._take(connection, kinds, now, chosen, crowded, taken)
                idle = [lane for lane in Lane if lane not in crowded]
                due = await leases.next_due(connection, kinds, idle)  # also when some are taken: they may leave no row
                await self._show_backlog(connection, now)
            except DATABASE_ERRORS as error:
                for lease in taken:
                    self._release_later(lease, f"{type(error).__name__}: {error}", now)
                raise
        self._start(taken, now)
        self._short_of_slots = bool(crowded)
        if taken:
            await asyncio.sleep(min(LONGEST_ROUND_PAUSE, PAUSE_PER_ROUND * (time.monotonic() - begun)))
        if (crowded and self._freed) or len(taken) < sum(map(len, chosen.values())):
            return 0.0  # a slot is free again, or another worker took what we chose
        return IDLE_LOOK if due is None else min(IDLE_LOOK, max(0.001, (due - now).total_seconds()))

    async def _waiting(self, connection: Connection, kinds: list[str], now: datetime) -> list[DueRow]:
        """Return the due rows of the lanes that have free slots: all of them where they fit, else some of each flow."""
        free = {lane: slots for lane, slots in self._capacity.free(lanes.per_lane(self._busy())).items() if slots}
        oldest = await leases.due_rows(connection, kinds, now, {lane: slots + 1 for lane, slots in free.items()})
        found = {row.id: row for row in oldest}
        for lane in lanes.lanes_without_slot(oldest, lanes.choose(oldest, self._busy(), self._capacity)):
            others, self._next_flow[lane] = await leases.due_rows_by_flow(
                connection, kinds, now, lane, free[lane], self._next_flow[lane]
            )
            found |= {row.id: row for row in others}
        return list(found.values())

    async def _take(
        self,
        connection: Connection,
        kinds: list[str],
        now: datetime,
        chosen: dict[Lane, list[DueRow]],
        crowded: set[Lane],
        taken: list[Lease],
    ) -> None:
        """Lease the chosen rows, and add them to `taken`: an error must not hide those that are leased already.

        Where everything due has a slot, lease the oldest, past rows that another worker locks.
        """
        seconds = self._platform.settings.work_lease_seconds
        for lane, rows in chosen.items():
            if lane in crowded:
                ids = [row.id for row in rows]
                taken += await leases.take_chosen(connection, kinds, self._owner, now, seconds, ids)
            else:
                taken += await leases.take(connection, kinds, self._owner, now, seconds, len(rows), [lane])

    def _start(self, taken: list[Lease], now: datetime) -> None:
        for lease in taken:
            metrics.work_lag.labels(lease.kind).observe(max(0.0, (now - lease.due_at).total_seconds()))
            self._note_turn(lease.lane, lease.flow)
        for share in self._shares(taken):
            task = asyncio.create_task(self._handle(*share))
            self._running[task] = share
            task.add_done_callback(self._ended)
        self._show_running()

    def _note_turn(self, lane: Lane, flow: str) -> None:
        newest = next(reversed(self._turns.values()), 0)
        self._turns.pop((lane, flow), None)
        self._turns[lane, flow] = newest + 1
        if len(self._turns) > FLOWS_REMEMBERED:
            del self._turns[next(iter(self._turns))]

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        self._freed = True
        self._show_running()
        if self._short_of_slots:
            self._woken.set()

    def _busy(self) -> Counter[tuple[Lane, str]]:
        return Counter((lease.lane, lease.flow) for share in self._running.values() for lease in share)

    def _full_lanes(self) -> set[Lane]:
        return {lane for lane, slots in self._capacity.free(lanes.per_lane(self._busy())).items() if not slots}

    def _show_running(self) -> None:
        running = lanes.per_lane(self._busy())
        for lane in Lane:
            metrics.work_running.labels(lane.name.lower()).set(running[lane])

    async def _show_backlog(self, connection: Connection, now: datetime) -> None:
        if now < self._next_backlog:
            return
        self._next_backlog = now + BACKLOG_PAUSE
        for lane, (number, seconds) in (await leases.backlog(connection, now)).items():
            metrics.work_waiting.labels(lane.name.lower()).set(number)
            metrics.work_oldest_seconds.labels(lane.name.lower()).set(seconds)

    def _shares(self, taken: Iterable[Lease]) -> list[list[Lease]]:
        """Group leases that one transaction handles: all of a kind, lane and flow if their reconciler can load many, else each
        by itself. Two tenants are never in one group: one would wait for the locks of the other's rows.
        """
        together: dict[tuple[object, ...], list[Lease]] = {}
        for lease in taken:
            key = (lease.kind, lease.lane, lease.flow) if lease.kind in self._batching else (lease.id,)
            together.setdefault(key, []).append(lease)
        return list(together.values())

    def _look_by(self, due: datetime) -> None:
        """Remember that this process has left a row that is due then. Other workers find it by their own clocks."""
        if due < self._next_look:
            self._next_look = due
            self._woken.set()

    async def _sleep(self, seconds: float) -> None:
        self._next_look = self._platform.clock() + timedelta(seconds=seconds)
        with suppress(TimeoutError):
            async with asyncio.timeout(max(seconds, 0.001)):
                await self._woken.wait()

    async def _handle(self, *taken: Lease) -> None:
        lease = taken[0]
        correlation_id.set(lease.correlation_id)
        try:
            await self._advance(*taken)
        except Exception as error:
            if len(taken) > 1:  # one of them failed the whole group: handle each alone to find it
                for each in taken:
                    await self._handle(each)
                return
            metrics.work_done.labels(lease.kind, "error").inc()
            if not self._platform.database.health.explains(error):  # a known outage has its own lines in the log
                log.exception("work failed, will retry", extra={"kind": lease.kind, "subject": lease.subject})
            await self._fail(lease, error)

    async def _advance(self, *taken: Lease) -> None:
        """Take the next step of one lease, or of several of a kind, in one transaction."""
        kind = taken[0].kind
        acted = await self._act(self._acting[kind], taken[0]) if kind in self._acting else None
        async with self._platform.transaction(PLATFORM, system_actor(f"worker/{kind}")) as tx:
            guarded = await leases.guard(tx, taken)
            loaded = await self._load(tx.connection, taken) if acted is None else {}  # the guard's answer comes with it
            ours = await leases.ours(guarded)
            ends = []
            for lease in _in_order_of(loaded, taken):
                if lease.id in ours:
                    tx.actor = system_actor(f"worker/{kind}", lease.correlation_id)
                    ends.append((lease, await self._apply(tx, lease, loaded.get(lease.subject), acted)))
                else:
                    log.warning("lease lost, result dropped", extra={"kind": kind, "subject": lease.subject})
            stays = await leases.finish(tx, ends)
        metrics.work_done.labels(kind, "ok").inc(len(ends))
        metrics.work_done.labels(kind, "lease_lost").inc(len(taken) - len(ends))
        for due in await stays.fetchall():
            self._look_by(due)

    async def _load(self, connection: Connection, taken: Sequence[Lease]) -> dict[str, Any]:
        kind, subjects = taken[0].kind, [lease.subject for lease in taken]
        if kind in self._jobs:
            return {}
        if kind in self._batching:
            return await self._batching[kind].load_many(connection, subjects)
        return {subject: await self._reconcilers[kind].load(connection, subject) for subject in subjects}

    async def _apply(self, tx: Tx, lease: Lease, loaded: Any, acted: tuple[Any, Any] | None) -> datetime | None:
        if lease.kind in self._jobs:
            return await self._jobs[lease.kind].run(tx, lease.subject)
        snapshot, outcome = acted or (loaded, None)
        if snapshot is None:
            return None
        if acted is not None:
            return await self._acting[lease.kind].apply(tx, snapshot, outcome)
        reconciler = self._reconcilers[lease.kind]
        return await reconciler.apply(tx, snapshot, reconciler.decide(snapshot, tx.now))

    async def _act(self, step: ActingReconciler[Any, Any] | ActingJob[Any, Any], lease: Lease) -> tuple[Any, Any]:
        """Return the snapshot and what came of acting on it; no snapshot, if there is nothing to do."""
        heartbeat = asyncio.create_task(self._heartbeat(lease))
        try:
            async with self._platform.database.connection(PLATFORM) as connection:
                snapshot = await step.load(connection, lease.subject)
            if snapshot is None:
                return None, None
            if not isinstance(step, ActingReconciler):
                return snapshot, await step.act(self._platform, snapshot)
            decision = step.decide(snapshot, self._platform.clock())
            return snapshot, await step.act(self._platform, snapshot, decision)
        finally:
            await tasks.stop(heartbeat)

    async def _heartbeat(self, lease: Lease) -> None:
        """Renew the lease until cancelled, or until it is lost; the apply finds that out by itself."""
        seconds = self._platform.settings.work_lease_seconds
        while True:
            await asyncio.sleep(seconds / 3)
            with suppress(*DATABASE_ERRORS):
                async with self._platform.database.connection(PLATFORM) as connection:
                    until = self._platform.clock() + timedelta(seconds=seconds)
                    try:
                        await leases.renew(connection, lease, until)
                    except LeaseLost:
                        return

    async def _fail(self, lease: Lease, error: Exception) -> None:
        pause = min(60.0, 0.2 * 2 ** min(lease.attempts, 10)) * random.uniform(0.8, 1.2)
        if isinstance(error, DeadlockDetected):
            pause = 0.02  # the work is not at fault: another transaction won
        now, reason = self._platform.clock(), f"{type(error).__name__}: {error}"
        again_at = now + timedelta(seconds=pause)
        try:
            async with self._platform.database.connection(PLATFORM) as connection:
                await leases.fail(connection, lease, reason, again_at)
        except DATABASE_ERRORS:
            outage = isinstance(error, OUTAGE_ERRORS) or self._platform.database.health.explains(error)
            self._release_later(lease, reason, now if outage else again_at)
        else:
            self._platform.wakeups.wake(leases.TOPIC)  # the loop may be resting until the lease would have lapsed

    def _release_later(self, lease: Lease, reason: str, again_at: datetime) -> None:
        self._unreleased[lease.id] = _Unreleased(lease, reason, again_at)
        self._woken.set()  # rounds are tried until the database is back; the lease may lapse before that

    async def _release_late(self, connection: Connection) -> None:
        """Give back the leases that an outage kept from it; one that somebody took over has another token and stays."""
        for late in list(self._unreleased.values()):
            await leases.fail(connection, late.lease, late.reason, late.again_at)
            del self._unreleased[late.lease.id]


def _in_order_of(loaded: Mapping[str, object], taken: Sequence[Lease]) -> list[Lease]:
    places = {subject: place for place, subject in enumerate(loaded)}
    return sorted(taken, key=lambda lease: places.get(lease.subject, len(places)))
