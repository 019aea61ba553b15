"""Tasks that are told to end, and do not hear it the first time."""

import asyncio
from contextlib import suppress

import pytest

from gpuaas_server.kernel import tasks


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
