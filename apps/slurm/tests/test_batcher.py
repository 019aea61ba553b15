"""Concurrent requests are combined into batches, and a cancelled request does not harm the others."""

import asyncio
from collections.abc import Sequence

import pytest

from gpuaas_slurm.batcher import RequestBatcher


class Target:
    """Doubles numbers, slowly, and records the batches."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.open = asyncio.Event()

    async def work(self, items: Sequence[int]) -> list[int]:
        self.batches.append(list(items))
        await self.open.wait()
        return [number * 2 for number in items]

    async def refuse(self, items: Sequence[int]) -> list[int]:
        self.batches.append(list(items))
        await self.open.wait()
        raise ValueError("closed")


async def start(batcher: RequestBatcher[int, int], target: Target, *numbers: int) -> list[asyncio.Task[int]]:
    tasks = [asyncio.create_task(batcher.submit("here", number, target.work)) for number in numbers]
    await asyncio.sleep(0)
    return tasks


async def test_requests_that_arrive_during_a_batch_share_the_next_one() -> None:
    batcher, target = RequestBatcher[int, int](), Target()
    tasks = await start(batcher, target, 1, 2, 3)
    target.open.set()
    assert await asyncio.gather(*tasks) == [2, 4, 6]
    assert target.batches == [[1], [2, 3]]
    assert batcher._queues == {}  # unused queues are removed


async def test_a_failed_batch_fails_for_all_its_requests() -> None:
    batcher, target = RequestBatcher[int, int](), Target()
    tasks = [asyncio.create_task(batcher.submit("here", number, target.refuse)) for number in (1, 2, 3)]
    await asyncio.sleep(0)
    target.open.set()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(one) for one in ended] == ["closed"] * 3
    assert target.batches == [[1], [2, 3]]


async def test_the_others_get_their_answers_when_the_caller_that_runs_the_batch_is_cancelled() -> None:
    batcher, target = RequestBatcher[int, int](), Target()
    first, second, third = await start(batcher, target, 1, 2, 3)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    target.open.set()
    assert list(await asyncio.gather(second, third)) == [4, 6]


async def test_a_cancelled_waiter_does_not_stop_the_others() -> None:
    batcher, target = RequestBatcher[int, int](), Target()
    first, second, third = await start(batcher, target, 1, 2, 3)
    second.cancel()
    await asyncio.sleep(0)
    target.open.set()
    assert list(await asyncio.gather(first, third)) == [2, 6]
