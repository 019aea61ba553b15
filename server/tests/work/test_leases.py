"""Leases: one owner at a time, fencing, no lost requests, take-over of lapsed ones."""

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import pytest
from psycopg import OperationalError
from psycopg.errors import ReadOnlySqlTransaction

from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import Platform, Tx, system_actor
from gpuaas_server.kernel.database import PLATFORM, Connection
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.rows import fetch_value
from gpuaas_server.work import leases
from gpuaas_server.work.leases import Lease, LeaseLost
from gpuaas_server.work.worker import Worker
from tests_support.select import select

ACTOR = system_actor("test", "correlation-of-a-test")
KIND = "errand"


async def ask(platform: Platform, *subjects: str, run_at: datetime | None = None) -> None:
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await leases.enqueue(tx, KIND, subjects, run_at)


async def take(platform: Platform, owner: str, seconds: float = 60, limit: int = 10) -> list[Lease]:
    async with platform.database.connection(PLATFORM) as connection:
        return await leases.take(connection, [KIND], owner, utc_now(), seconds, limit)


async def finish(platform: Platform, lease: Lease, again_at: datetime | None = None) -> None:
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        if lease.id not in await leases.ours(await leases.guard(tx, [lease])):
            raise LeaseLost(lease.subject)
        await leases.finish(tx, [(lease, again_at)])


async def test_a_row_is_leased_to_one_owner_at_a_time(platform: Platform) -> None:
    await ask(platform, *(f"s{n}" for n in range(40)))
    shares = await asyncio.gather(*(take(platform, f"w{n}") for n in range(8)))
    taken = [lease.subject for share in shares for lease in share]
    assert sorted(taken) == sorted(set(taken))
    assert len(taken) == 40


async def test_asking_twice_is_one_row(platform: Platform) -> None:
    await ask(platform, "s")
    await ask(platform, "s")
    assert len(await take(platform, "w")) == 1


async def test_work_enqueued_during_a_lease_makes_the_row_run_again(platform: Platform) -> None:
    await ask(platform, "s")
    (lease,) = await take(platform, "w")
    await ask(platform, "s")
    await finish(platform, lease)
    assert [again.subject for again in await take(platform, "w")] == ["s"]


async def wake(platform: Platform, *subjects: str) -> None:
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await leases.wake(tx, KIND, subjects)


async def test_woken_work_is_due_at_once_and_what_nobody_asked_for_is_not_made(platform: Platform) -> None:
    await ask(platform, "later", run_at=utc_now() + timedelta(hours=1))
    assert await take(platform, "w") == []
    await wake(platform, "later", "nobody's")
    (lease,) = await take(platform, "w")
    assert lease.subject == "later"
    await wake(platform, "later")
    await finish(platform, lease)
    assert len(await take(platform, "w")) == 1, "what was woken during the lease runs again"


async def test_waking_does_not_wait_for_whoever_applies_the_row(platform: Platform) -> None:
    await ask(platform, "s")
    (lease,) = await take(platform, "w")
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        assert lease.id in await leases.ours(await leases.guard(tx, [lease]))
        await asyncio.wait_for(wake(platform, "s"), 20)


async def test_finished_work_is_gone(platform: Platform) -> None:
    await ask(platform, "s")
    (lease,) = await take(platform, "w")
    await finish(platform, lease)
    assert await take(platform, "w") == []


async def test_work_for_later_is_not_due_now_and_known_as_the_next(platform: Platform) -> None:
    later = utc_now() + timedelta(hours=1)
    await ask(platform, "s", run_at=later)
    assert await take(platform, "w") == []
    async with platform.database.connection(PLATFORM) as connection:
        assert await leases.next_due(connection, [KIND]) == later


async def test_a_lapsed_lease_is_taken_over_and_the_late_owner_changes_nothing(platform: Platform) -> None:
    await ask(platform, "s")
    (late,) = await take(platform, "slow", seconds=-1)
    (fresh,) = await take(platform, "quick")
    assert fresh.token == late.token + 1
    with pytest.raises(LeaseLost):
        await finish(platform, late)
    async with platform.database.connection(PLATFORM) as connection:
        with pytest.raises(LeaseLost):
            await leases.renew(connection, late, utc_now())
    await finish(platform, fresh)


class Errand:
    """A reconciler that counts how often it is applied, and how many run at once."""

    kind = KIND

    def __init__(self, fail_times: int = 0, seconds: float = 0.0) -> None:
        self.fail_times = fail_times
        self.seconds = seconds
        self.applied: list[str] = []
        self.running: set[str] = set()
        self.done = asyncio.Event()

    async def load(self, connection: Connection, subject: str) -> str:
        return subject

    def decide(self, snapshot: str, now: datetime) -> str:
        return snapshot

    async def act(self, platform: Platform, snapshot: str, decision: str) -> str:
        assert snapshot not in self.running, "two owners at once"
        self.running.add(snapshot)
        await asyncio.sleep(self.seconds)
        self.running.discard(snapshot)
        if self.fail_times > 0:
            self.fail_times -= 1
            raise RuntimeError("the world is not ready")
        return decision

    async def apply(self, tx: Tx, snapshot: str, decision: str) -> None:
        self.applied.append(snapshot)
        self.done.set()


async def test_failed_work_is_tried_again_after_a_pause(platform: Platform) -> None:
    errand = Errand(fail_times=2)
    worker = Worker(platform, [errand])
    running = asyncio.create_task(worker.run())
    await ask(platform, "s")
    await asyncio.wait_for(errand.done.wait(), 20)
    running.cancel()
    assert errand.applied == ["s"]


async def test_two_workers_share_the_work_and_never_the_same_row(platform: Platform) -> None:
    errand = Errand(seconds=0.01)
    workers = [asyncio.create_task(Worker(platform, [errand]).run()) for _ in range(2)]
    subjects = [f"s{n}" for n in range(30)]
    await ask(platform, *subjects)
    async with asyncio.timeout(30):
        while len(errand.applied) < 30:
            await asyncio.sleep(0.02)
    for worker in workers:
        worker.cancel()
    assert sorted(errand.applied) == sorted(subjects)


async def test_a_heartbeat_keeps_a_long_errand_from_being_taken_over(platform: Platform) -> None:
    settings = platform.settings.model_copy(update={"work_lease_seconds": 0.3})
    platform.settings = settings
    errand = Errand(seconds=1.2)
    workers = [asyncio.create_task(Worker(platform, [errand]).run()) for _ in range(2)]
    await ask(platform, "long")
    await asyncio.wait_for(errand.done.wait(), 20)
    for worker in workers:
        worker.cancel()
    assert errand.applied == ["long"]


async def test_a_heartbeat_that_loses_its_cancellation_does_not_outlive_its_errand(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.11 loses one when it comes with the result of a wait, as in a wait for a connection."""
    beating: list[asyncio.Task[None] | None] = []

    async def heartbeat(worker: Worker, lease: Lease) -> None:
        beating.append(asyncio.current_task())
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()

    monkeypatch.setattr(Worker, "_heartbeat", heartbeat)
    errand = Errand(seconds=0.05)  # long enough for the heartbeat to begin
    await ask(platform, "s")
    (lease,) = await take(platform, "w")
    await Worker(platform, [errand])._handle(lease)
    assert errand.applied == ["s"]
    assert [task is not None and task.done() for task in beating] == [True]


async def test_a_heartbeat_that_comes_late_does_not_lock_away_what_is_finished(platform: Platform) -> None:
    await ask(platform, "s")
    (lease,) = await take(platform, "w")
    await finish(platform, lease, again_at=utc_now())
    async with platform.database.connection(PLATFORM) as connection:
        with pytest.raises(LeaseLost):
            await leases.renew(connection, lease, utc_now() + timedelta(seconds=60))
    assert [again.subject for again in await take(platform, "w")] == ["s"]


async def test_no_worker_takes_over_while_the_owner_applies(platform: Platform) -> None:
    await ask(platform, "s")
    (lease,) = await take(platform, "w", seconds=-1)
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        assert await leases.ours(await leases.guard(tx, [lease])) == {lease.id}
        assert await take(platform, "thief") == []
        await leases.finish(tx, [(lease, None)])
    assert await take(platform, "thief") == []


async def test_the_pause_after_failures_grows_and_the_reason_is_kept(platform: Platform) -> None:
    await ask(platform, "s")
    worker, pauses = Worker(platform, [Errand(fail_times=99)]), []
    for _ in range(4):
        async with platform.database.connection(PLATFORM) as connection:
            await connection.execute("UPDATE work_items SET run_at = now()")
        (lease,) = await take(platform, "w")
        await worker._handle(lease)
        async with platform.database.connection(PLATFORM) as connection:
            cursor = await select(
                connection, "SELECT run_at - now() AS pause, attempts, last_error, leased_by FROM work_items"
            )
            row = (await cursor.fetchall())[0]
        assert (row["last_error"], row["leased_by"]) == ("RuntimeError: the world is not ready", None)
        pauses.append(row["pause"])
    assert pauses == sorted(pauses)
    assert row["attempts"] == 4


async def test_a_worker_goes_on_when_its_connections_were_cut(platform: Platform) -> None:
    errand = Errand()
    running = asyncio.create_task(Worker(platform, [errand]).run())
    await ask(platform, "before")
    await asyncio.wait_for(errand.done.wait(), 20)
    async with platform.database.connection(PLATFORM) as connection:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()"
        )
    errand.done.clear()
    async with asyncio.timeout(60):
        while not errand.done.is_set():  # ours may be one of the cut connections too
            with suppress(OperationalError):
                await ask(platform, "after")
            await asyncio.sleep(0.05)
    running.cancel()
    assert set(errand.applied) == {"before", "after"}


LONG_LEASE = 3600.0  # longer than any test: nothing runs again because its lease has lapsed


async def applied_after_an_outage(platform: Platform, errand: Errand) -> None:
    platform.settings = platform.settings.model_copy(update={"work_lease_seconds": LONG_LEASE})
    running = asyncio.create_task(Worker(platform, [errand]).run())
    try:
        await ask(platform, "s")
        await asyncio.wait_for(errand.done.wait(), 60)
    finally:
        running.cancel()
    assert errand.applied == ["s"]


async def test_a_lease_that_an_outage_kept_is_given_back_when_the_database_is_there_again(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals = [OperationalError("lost"), ReadOnlySqlTransaction("read-only"), Problem("unavailable")]
    fail, tokens = leases.fail, []

    async def fail_late(connection: Connection, lease: Lease, error: str, again_at: datetime) -> None:
        tokens.append(lease.token)
        if refusals:
            raise refusals.pop()
        await fail(connection, lease, error, again_at)

    monkeypatch.setattr(leases, "fail", fail_late)
    await applied_after_an_outage(platform, Errand(fail_times=1))
    assert tokens == [1, 1, 1, 1]


async def test_what_was_leased_as_an_outage_began_is_given_back(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    next_due, lost = leases.next_due, list[int]()

    async def next_due_lost(connection: Connection, *asked: Any) -> datetime | None:
        row = await fetch_value(connection, int, "SELECT count(*)::int FROM work_items WHERE lease_until IS NOT NULL")
        if row and not lost:
            lost.append(row)
            raise OperationalError("lost")
        return await next_due(connection, *asked)

    monkeypatch.setattr(leases, "next_due", next_due_lost)
    await applied_after_an_outage(platform, Errand())
    assert lost == [1]


async def test_a_lease_that_was_taken_over_during_the_outage_stays_with_its_new_owner(platform: Platform) -> None:
    await ask(platform, "s")
    worker = Worker(platform, [Errand()])
    (lapsed,) = await take(platform, "w", seconds=-1)
    worker._release_later(lapsed, "OperationalError: lost", utc_now())
    (fresh,) = await take(platform, "other")
    async with platform.database.connection(PLATFORM) as connection:
        await worker._release_late(connection)
    assert await take(platform, "third") == []
    await finish(platform, fresh)
