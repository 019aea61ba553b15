"""Tasks that are told to end, and do not hear it the first time."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from gpuaas_server.kernel import tasks, wakeups
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.wakeups import Wakeups
from gpuaas_server.work.worker import Worker


async def test_who_missed_that_it_is_over_is_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "SAID_AGAIN_SECONDS", 0.05)
    missed = asyncio.Event()

    async def goes_on() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        missed.set()
        await asyncio.sleep(60)

    task = asyncio.create_task(goes_on())
    await asyncio.sleep(0)  # it has begun
    async with asyncio.timeout(20):
        await tasks.stop(task)
    assert missed.is_set()
    assert task.cancelled()


async def _cancelled_at_each_moment(rest: Callable[[asyncio.Event], Awaitable[object]]) -> list[bool]:
    """Whether a cancellation was heard, when it came so many turns of the loop after what was waited for."""
    heard = []
    for turns in range(5):
        event = asyncio.Event()
        task = asyncio.ensure_future(rest(event))
        for _ in range(3):
            await asyncio.sleep(0)  # it waits
        event.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        if task.done():
            break
        task.cancel()
        await asyncio.wait([task])
        heard.append(task.cancelled())
    return heard


async def test_a_cancellation_that_comes_together_with_a_wake_up_is_heard(platform: Platform) -> None:
    worker = Worker(platform, [])

    async def rests(woken: asyncio.Event) -> None:
        worker._woken = woken
        await worker._sleep(60)

    async def opens(ready: asyncio.Event) -> None:
        waker = Wakeups("")
        waker._listeners_ready = ready
        waker._forever = lambda loop: asyncio.sleep(0)  # type: ignore[method-assign,assignment]
        await waker.open()

    for rest in (rests, opens, lambda woken: wakeups._wait_for_wakeup(woken, 60)):
        heard = await _cancelled_at_each_moment(rest)
        assert heard == [True] * len(heard)
        assert heard
    # Why `asyncio.wait_for` is not used (ruff refuses it): when this fails, Python hears them all and the ban can go.
    if sys.version_info < (3, 12):
        assert False in await _cancelled_at_each_moment(lambda woken: asyncio.wait_for(woken.wait(), 60))
