"""Those who ask at the same moment are answered by one question; what happens to one of them harms no other."""

import asyncio
from collections.abc import Sequence

import pytest

from gpuaas_slurm.gathering import Gathering


class Place:
    """Doubles numbers, slowly, and remembers which it was asked for together."""

    def __init__(self) -> None:
        self.rounds: list[list[int]] = []
        self.open = asyncio.Event()

    async def work(self, asked: Sequence[int]) -> list[int]:
        self.rounds.append(list(asked))
        await self.open.wait()
        return [number * 2 for number in asked]

    async def refuse(self, asked: Sequence[int]) -> list[int]:
        self.rounds.append(list(asked))
        await self.open.wait()
        raise ValueError("closed")


async def begun(gathering: Gathering[int, int], place: Place, *numbers: int) -> list[asyncio.Task[int]]:
    tasks = [asyncio.create_task(gathering.ask("here", number, place.work)) for number in numbers]
    await asyncio.sleep(0)
    return tasks


async def test_who_comes_while_a_question_is_on_its_way_shares_the_next() -> None:
    gathering, place = Gathering[int, int](), Place()
    tasks = await begun(gathering, place, 1, 2, 3)
    place.open.set()
    assert await asyncio.gather(*tasks) == [2, 4, 6]
    assert place.rounds == [[1], [2, 3]]
    assert gathering._lines == {}  # nothing is kept of places that nobody asks


async def test_what_fails_has_failed_for_everybody_who_asked_for_it() -> None:
    gathering, place = Gathering[int, int](), Place()
    tasks = [asyncio.create_task(gathering.ask("here", number, place.refuse)) for number in (1, 2, 3)]
    await asyncio.sleep(0)
    place.open.set()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(one) for one in ended] == ["closed"] * 3
    assert place.rounds == [[1], [2, 3]]


async def test_who_is_interrupted_while_it_works_for_all_leaves_the_others_their_answers() -> None:
    gathering, place = Gathering[int, int](), Place()
    first, second, third = await begun(gathering, place, 1, 2, 3)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    place.open.set()
    assert list(await asyncio.gather(second, third)) == [4, 6]


async def test_who_is_interrupted_while_it_waits_stops_nobody() -> None:
    gathering, place = Gathering[int, int](), Place()
    first, second, third = await begun(gathering, place, 1, 2, 3)
    second.cancel()
    await asyncio.sleep(0)
    place.open.set()
    assert list(await asyncio.gather(first, third)) == [2, 6]
