"""What waits for the database waits as long as it takes, at a steady pace, and says so in one line."""

import asyncio
import logging

import pytest
from psycopg import OperationalError
from psycopg.errors import ReadOnlySqlTransaction

from gpuaas_server.kernel.database_health import DatabaseHealth
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.start import StartFailed
from gpuaas_server.kernel.wakeups import Wakeups

ATTEMPTS = 1000
LONGEST_PAUSE = 0.25


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were asked for; none of them is made."""
    asked: list[float] = []
    yields = asyncio.sleep

    async def sleep(seconds: float) -> None:
        asked.append(seconds)
        await yields(0)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return asked


class Failing:
    """Fails as often as there are errors, then succeeds."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)

    async def __call__(self) -> str:
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().split(":")[0].split(" after")[0] for record in caplog.records]


TWO_LINES = ["The database cannot be used", "The database can be used again"]


async def test_the_pause_between_attempts_does_not_grow_with_the_outage(
    pauses: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    refused = [OperationalError("connection refused"), OSError("no route")] * (ATTEMPTS // 2)
    with caplog.at_level(logging.WARNING, "gpuaas.database"):
        assert await DatabaseHealth().connect(Failing(*refused)) == "done"
    assert len(pauses) == ATTEMPTS
    assert max(pauses) <= LONGEST_PAUSE
    assert lines(caplog) == TWO_LINES


async def test_a_step_is_repeated_until_the_database_can_do_it(
    pauses: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    health, told = DatabaseHealth(), []
    health.on_return(lambda: told.append("back"))
    errors = [OperationalError("lost"), ReadOnlySqlTransaction("no"), Problem("unavailable", "All are busy.")]
    with caplog.at_level(logging.WARNING, "gpuaas.database"):
        assert await health.until_available(Failing(*errors * (ATTEMPTS // 3))) == "done"
    assert max(pauses) <= LONGEST_PAUSE
    assert (lines(caplog), told, health.cause) == (TWO_LINES, ["back"], "")


@pytest.mark.parametrize("error", [StartFailed("an older schema"), Problem("secret_store_unavailable"), OSError()])
async def test_a_step_that_fails_otherwise_is_not_repeated(error: Exception) -> None:
    health = DatabaseHealth()
    with pytest.raises(type(error)):
        await health.until_available(Failing(error))
    assert not health.cause


async def test_wake_ups_outlive_a_standby_where_nobody_may_listen(pauses: list[float]) -> None:
    listening = asyncio.Event()

    async def listen() -> None:
        if len(pauses) < 3:
            raise ReadOnlySqlTransaction("cannot execute LISTEN during recovery")
        listening.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(Wakeups("")._forever(listen))
    try:
        await asyncio.wait_for(listening.wait(), 60)
    finally:
        task.cancel()
