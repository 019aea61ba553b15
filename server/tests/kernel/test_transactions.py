"""What a transaction costs and promises: late sending, late writing, and refusals that leave nothing."""

from datetime import UTC, datetime

import pytest
from psycopg.errors import DivisionByZero

from gpuaas_server.kernel.context import Platform, Tx, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.deferred_writes import DeferredWrites
from tests_support.select import select

ACTOR = system_actor("test", "correlation-of-a-test")
WORK = (
    "INSERT INTO work_items (id, kind, subject, run_at, correlation_id) SELECT id, 'errand', subject, now(), '-'"
    " FROM jsonb_to_recordset(%s::jsonb) AS r(id text, subject text)"
)


async def subjects(platform: Platform) -> list[str]:
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT subject FROM work_items WHERE kind = 'errand' ORDER BY id")
        return [row["subject"] for row in await cursor.fetchall()]


pytestmark = pytest.mark.usefixtures("either_pipeline")


async def waiting_commands(tx: Tx) -> int:
    pipeline = tx.connection._pipeline
    assert pipeline is not None
    return len(pipeline.command_queue)


async def test_statements_are_sent_when_somebody_wants_an_answer(platform: Platform, either_pipeline: bool) -> None:
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        first = await select(tx.connection, "SELECT 1 AS number")
        second = await select(tx.connection, "SELECT 2 AS number")
        assert (await waiting_commands(tx) >= 3) == either_pipeline  # BEGIN and both
        assert await second.fetchone() == {"number": 2}
        assert await waiting_commands(tx) == 0
        assert await first.fetchone() == {"number": 1}


async def test_large_statements_and_answers_pass_in_both_directions(platform: Platform) -> None:
    text = "x" * 300_000
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        cursors = [await tx.connection.execute("SELECT %s::text AS said", (text,)) for _ in range(20)]
        answers = [await cursor.fetchone() for cursor in cursors]
    assert answers == [(text,)] * 20


async def test_a_statement_that_fails_late_takes_everything_with_it(platform: Platform) -> None:
    async def fail() -> None:
        async with platform.transaction(PLATFORM, ACTOR) as tx:
            tx.later.insert(WORK, [{"id": "wrk_1", "subject": "a"}])
            await tx.flush()
            await tx.connection.execute("SELECT 1 / 0")

    with pytest.raises(DivisionByZero):
        await fail()
    assert await subjects(platform) == []
    async with platform.transaction(PLATFORM, ACTOR) as tx:  # the connection is as good as new
        tx.later.insert(WORK, [{"id": "wrk_2", "subject": "b"}])
    assert await subjects(platform) == ["b"]


async def test_what_is_left_for_later_is_written_at_the_end_or_when_somebody_reads(platform: Platform) -> None:
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        tx.later.insert(WORK, [{"id": "wrk_1", "subject": "a"}])
        cursor = await select(tx.connection, "SELECT count(*) AS n FROM work_items WHERE kind = 'errand'")
        assert await cursor.fetchone() == {"n": 0}
        await tx.flush()
        cursor = await select(tx.connection, "SELECT count(*) AS n FROM work_items WHERE kind = 'errand'")
        assert await cursor.fetchone() == {"n": 1}
        tx.later.insert(WORK, [{"id": "wrk_2", "subject": "b"}])
    assert await subjects(platform) == ["a", "b"]


def test_rows_of_one_statement_travel_together_in_their_order() -> None:
    later = DeferredWrites()
    later.insert("INSERT one %s", [{"n": 1}])
    later.insert("INSERT two %s", [{"n": 2}])
    later.insert("INSERT one %s", [{"n": 3}])
    later.call("check(%s)", (4,))
    assert later.take() == (
        "WITH w0 AS (INSERT one %s), w1 AS (INSERT two %s) SELECT check(%s)",
        ['[{"n":1},{"n":3}]', '[{"n":2}]', 4],
    )
    assert later.take() is None


def test_numbers_of_any_size_and_moments_are_written() -> None:
    later = DeferredWrites()
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    later.insert("INSERT one %s", [{"n": 10**30, "at": moment, "text": "ö"}])
    assert later.take() == (
        "WITH w0 AS (INSERT one %s) SELECT 1",
        ['[{"n": 1000000000000000000000000000000, "at": "2026-01-02T03:04:05+00:00", "text": "ö"}]'],
    )
