"""Many askers, few statements."""

import asyncio
from collections.abc import Sequence

import pytest

from gpuaas_server.kernel.lookups import MOST_AT_ONCE, BatchedLookup


class Source:
    def __init__(self) -> None:
        self.statements: list[int] = []
        self.broken = False

    async def look_up(self, keys: Sequence[int]) -> dict[int, str]:
        self.statements.append(len(keys))
        await asyncio.sleep(0.01)
        if self.broken:
            raise ConnectionError("the database is away")
        return {key: str(key) for key in keys if key >= 0}


async def test_a_storm_of_askers_shares_a_few_statements() -> None:
    source = Source()
    batched = BatchedLookup(source.look_up)
    answers = await asyncio.gather(*(batched.ask(n % 2000) for n in range(4000)))
    assert answers == [str(n % 2000) for n in range(4000)]
    assert source.statements == [MOST_AT_ONCE] * 4


async def test_who_asks_during_a_statement_gets_the_answer_of_a_later_one() -> None:
    source = Source()
    batched = BatchedLookup(source.look_up)
    first = asyncio.create_task(batched.ask(1))
    await asyncio.sleep(0.005)
    assert await batched.ask(1) == "1"
    assert first.done()
    assert source.statements == [1, 1]


async def test_nothing_found_is_none_and_a_failure_reaches_every_asker() -> None:
    source = Source()
    batched = BatchedLookup(source.look_up)
    assert await batched.ask(-1) is None
    source.broken = True
    failed = await asyncio.gather(batched.ask(1), batched.ask(2), return_exceptions=True)
    assert [type(error) for error in failed] == [ConnectionError, ConnectionError]
    source.broken = False
    assert await batched.ask(3) == "3"


async def test_an_asker_that_went_away_disturbs_nobody() -> None:
    batched = BatchedLookup(Source().look_up)
    gone = asyncio.create_task(batched.ask(1))
    stays = asyncio.create_task(batched.ask(2))
    await asyncio.sleep(0)
    gone.cancel()
    assert await stays == "2"
    with pytest.raises(asyncio.CancelledError):
        await gone
