"""The worker on a real database: one tenant's flood holds up neither another tenant nor another lane."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from gpuaas_server.allocations.reconciler import AllocationReconciler
from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import Platform, Tx, system_actor
from gpuaas_server.kernel.database import PLATFORM, Connection, Scope
from gpuaas_server.work import leases, worker
from gpuaas_server.work.lanes import Lane
from gpuaas_server.work.worker import Worker
from tests_support.select import select

ACTOR = system_actor("test", "correlation-of-a-test")


class Gated:
    """A reconciler whose work lasts until the test releases it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.begun: list[str] = []
        self.seen = asyncio.Event()
        self.go = asyncio.Semaphore(0)

    async def load(self, connection: Connection, subject: str) -> str:
        return subject

    def decide(self, snapshot: str, now: datetime) -> str:
        return snapshot

    async def act(self, platform: Platform, snapshot: str, decision: str) -> str:
        self.begun.append(snapshot)
        self.seen.set()
        await self.go.acquire()
        return decision

    async def apply(self, tx: Tx, snapshot: str, decision: str) -> None:
        return None

    async def begins(self, number: int) -> None:
        async with asyncio.timeout(30):
            while len(self.begun) < number:
                self.seen.clear()
                await self.seen.wait()


async def ask(platform: Platform, kind: str, flow: str, *subjects: str, lane: Lane | None = None) -> None:
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await leases.enqueue(tx, kind, subjects, lane=lane, flow=flow)


async def test_long_work_of_one_tenant_holds_up_neither_another_nor_another_lane(platform: Platform) -> None:
    images, liveness = Gated("artifact_check"), Gated("node_liveness")
    await ask(platform, "artifact_check", "a", *(f"a{n}" for n in range(30)))
    running = asyncio.create_task(Worker(platform, [images, liveness]).run())
    await images.begins(1)
    await ask(platform, "node_liveness", "", "all")
    await liveness.begins(1)
    await ask(platform, "artifact_check", "b", "b0")
    await images.begins(2)
    assert images.begun[1:] == ["b0"]
    running.cancel()


async def test_tenants_take_turns_whatever_the_backlog_of_one_is(platform: Platform) -> None:
    platform.settings = platform.settings.model_copy(update={"work_concurrency": 1})
    errands = Gated("errand")
    await ask(platform, "errand", "a", *(f"a{n}" for n in range(300)))
    running = asyncio.create_task(Worker(platform, [errands]).run())
    await errands.begins(1)
    await ask(platform, "errand", "b", "b0", "b1")
    for number in range(2, 6):
        errands.go.release()
        await errands.begins(number)
    assert {"b0", "b1"} <= set(errands.begun[:5])
    running.cancel()


async def test_a_slot_that_comes_free_is_used_at_once_for_what_waits(platform: Platform) -> None:
    platform.settings = platform.settings.model_copy(update={"work_concurrency": 1})
    errands = Gated("errand")
    await ask(platform, "errand", "a", *(f"a{n}" for n in range(5)))
    running = asyncio.create_task(Worker(platform, [errands]).run())
    for number in range(1, 6):
        await errands.begins(number)
        errands.go.release()
    assert sorted(errands.begun) == [f"a{n}" for n in range(5)]
    running.cancel()


async def test_a_row_stays_in_the_more_urgent_lane_and_with_its_tenant(platform: Platform) -> None:
    async with platform.transaction(Scope("ten_a"), ACTOR) as tx:
        await leases.enqueue(tx, "errand", ["s"])
    await ask(platform, "errand", "", "s", lane=Lane.SAFETY)
    await ask(platform, "errand", "", "s")
    async with platform.database.connection(PLATFORM) as connection:
        (lease,) = await leases.take(connection, ["errand"], "w", utc_now(), 60, 10)
    assert (lease.lane, lease.flow) == (Lane.SAFETY, "ten_a")


async def test_a_flow_is_found_past_any_backlog_and_many_flows_a_few_at_a_time(platform: Platform) -> None:
    for flow in range(leases.FLOWS_AT_ONCE + 5):
        await ask(platform, "errand", f"f{flow:03}", *(f"{flow}-{n}" for n in range(3)))
    async with platform.database.connection(PLATFORM) as connection:
        now = utc_now() + timedelta(seconds=1)
        some, again = await leases.due_rows_by_flow(connection, ["errand"], now, Lane.INTERACTIVE, 2, "")
        rest, end = await leases.due_rows_by_flow(connection, ["errand"], now, Lane.INTERACTIVE, 2, again)
    assert {row.flow for row in some} | {row.flow for row in rest} == {
        f"f{flow:03}" for flow in range(leases.FLOWS_AT_ONCE + 5)
    }
    assert (len(some), end) == (2 * leases.FLOWS_AT_ONCE, "")


async def test_the_backlog_of_each_lane_is_known(platform: Platform) -> None:
    await ask(platform, "artifact_check", "a", "a0", "a1")
    async with platform.database.connection(PLATFORM) as connection:
        found = await leases.backlog(connection, utc_now() + timedelta(seconds=60))
    assert found[Lane.BULK][0] == 2
    assert found[Lane.BULK][1] > 59
    assert found[Lane.SAFETY] == (0, 0.0)


@pytest.mark.parametrize("emptied", [False, True])
@pytest.mark.parametrize(("known", "kinds"), [(0, 1), (300, 1), (5, 5), (300, 30)])
async def test_the_cost_of_a_look_does_not_grow_with_the_backlog(
    platform: Platform, known: int, kinds: int, emptied: bool
) -> None:
    """Counted in the rows that this connection reads, by PostgreSQL itself, whatever its statistics knew before."""
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await tx.connection.execute("TRUNCATE work_items")  # pages that other tests left would be part of what is known
    for kind in range(kinds):
        await ask(platform, f"known{kind}", "a", *(f"known{n}" for n in range(known // kinds)))
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await tx.connection.execute("ANALYZE work_items")
        await tx.connection.execute("DELETE FROM work_items")
    if emptied:  # what was known of the columns stays, and the table is known to be empty
        async with platform.transaction(PLATFORM, ACTOR) as tx:
            await tx.connection.execute("TRUNCATE work_items")
            await tx.connection.execute("ANALYZE work_items")
    await ask(platform, "errand", "a", *(f"a{n}" for n in range(2000)))
    await ask(platform, "errand", "b", "b0")
    now = utc_now() + timedelta(seconds=1)
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        connection = tx.connection
        before = await _rows_read(connection)
        oldest = await leases.due_rows(connection, ["errand"], now, {Lane.INTERACTIVE: 9})
        of_each, _ = await leases.due_rows_by_flow(connection, ["errand"], now, Lane.INTERACTIVE, 8, "")
        await leases.next_due(connection, ["errand"])
        read = await _rows_read(connection) - before
    assert (len(oldest), len(of_each)) == (9, 9)
    assert 0 < read < 500, "a look read the backlog of 2,000"


async def test_rows_of_two_tenants_are_never_in_one_transaction(platform: Platform) -> None:
    for flow in ("a", "b"):
        await ask(platform, AllocationReconciler.kind, flow, f"{flow}0", f"{flow}1")
    async with platform.database.connection(PLATFORM) as connection:
        taken = await leases.take(connection, [AllocationReconciler.kind], "w", utc_now(), 60, 10)
    shares = Worker(platform, [AllocationReconciler(platform)])._shares(taken)
    assert sorted(sorted(lease.subject for lease in share) for share in shares) == [["a0", "a1"], ["b0", "b1"]]


async def _rows_read(connection: Connection) -> int:
    """Of this connection alone, and complete while a transaction lasts: what others read is told later, at any moment."""
    cursor = await select(
        connection,
        "SELECT (idx_tup_fetch + seq_tup_read)::int AS n FROM pg_stat_xact_user_tables WHERE relname = 'work_items'",
    )
    found = await cursor.fetchone()
    return int(found["n"]) if found else 0


async def test_a_row_that_is_due_soon_is_not_forgotten_over_one_that_is_due_now(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody wakes the worker for the second row, and its idle look would come long after this test has given up."""
    monkeypatch.setattr(worker, "IDLE_LOOK", 3600.0)
    errands = Gated("errand")
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await leases.enqueue(tx, "errand", ["now"])
        await leases.enqueue(tx, "errand", ["soon"], tx.now + timedelta(seconds=1))
    running = asyncio.create_task(Worker(platform, [errands]).run())
    errands.go.release()
    await errands.begins(2)
    assert errands.begun == ["now", "soon"]
    running.cancel()


class Reversing:
    """A reconciler that loads many subjects and returns the last name first."""

    kind = "errand"

    def __init__(self) -> None:
        self.stored: list[str] = []

    async def load(self, connection: Connection, subject: str) -> str:
        return subject

    async def load_many(self, connection: Connection, subjects: Sequence[str]) -> dict[str, str]:
        return {subject: subject for subject in sorted(subjects, reverse=True)}

    def decide(self, snapshot: str, now: datetime) -> str:
        return snapshot

    async def apply(self, tx: Tx, snapshot: str, decision: str) -> None:
        self.stored.append(snapshot)


async def test_a_batch_reconciler_decides_the_order_in_which_rows_are_stored(platform: Platform) -> None:
    reconciler = Reversing()
    names = ["b", "d", "a", "c"]
    for name in names:
        await ask(platform, "errand", "a", name)
    worker = Worker(platform, [reconciler])
    await worker._round()
    for task in list(worker._running):
        await task
    assert reconciler.stored == ["d", "c", "b", "a"]
