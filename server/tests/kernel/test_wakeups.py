"""Wake-ups: across processes, coalesced, and back after the connection was cut."""

import asyncio

import psycopg

from gpuaas_server.embedded.postgres import EmbeddedPostgres
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.kernel.wakeups import PollResult
from gpuaas_server.runtime import running_platform

HANG = 60.0  # seconds, after which nobody waits any more


async def heard(platform: Platform, topic: str, seconds: float = 10.0) -> bool:
    async with platform.wakeups.waiting(topic) as event:
        try:
            await asyncio.wait_for(event.wait(), seconds)
        except TimeoutError:
            return False
    return True


async def test_another_process_hears_and_only_its_topic(platform: Platform, settings: Settings) -> None:
    async with running_platform(settings) as other:
        mine = asyncio.create_task(heard(other, "task:a"))
        foreign = asyncio.create_task(heard(other, "task:b", 0.5))
        await asyncio.sleep(0.1)
        platform.wakeups.wake("task:a")
        assert await mine
        assert not await foreign


async def test_who_wakes_is_not_woken_again_by_its_own_voice(platform: Platform, settings: Settings) -> None:
    async with running_platform(settings) as other, platform.wakeups.waiting("task:a") as own:
        elsewhere = asyncio.create_task(heard(other, "task:a"))
        await asyncio.sleep(0.1)
        platform.wakeups.wake("task:a")
        assert own.is_set()
        own.clear()
        assert await elsewhere  # it went out, and came back here too
        await asyncio.sleep(0.3)
        assert not own.is_set()
        other.wakeups.wake("task:a")
        await asyncio.wait_for(own.wait(), HANG)


async def test_thousands_of_topics_in_one_breath_all_arrive(platform: Platform, settings: Settings) -> None:
    async with running_platform(settings) as other:
        topics = [f"task:{number:06d}-{'x' * 20}" for number in range(3_000)]
        waiting = [asyncio.create_task(heard(other, topic)) for topic in topics]
        await asyncio.sleep(0.2)
        platform.wakeups.wake(*topics)
        assert all(await asyncio.gather(*waiting))


async def test_wake_ups_come_back_after_the_connections_were_cut(
    platform: Platform, settings: Settings, postgres_server: EmbeddedPostgres
) -> None:
    async with running_platform(settings) as other:
        with psycopg.connect(postgres_server.superuser_url, autocommit=True) as connection:
            name = settings.database_url.get_secret_value().rpartition("/")[2].partition("?")[0]  # type: ignore[union-attr]
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        async with asyncio.timeout(20):
            while True:
                waiting = asyncio.create_task(heard(other, "after", 0.5))
                await asyncio.sleep(0.05)
                platform.wakeups.wake("after")
                if await waiting:
                    return


async def test_when_the_process_is_to_end_every_wait_ends(platform: Platform) -> None:
    waiting = asyncio.create_task(heard(platform, "never"))
    await asyncio.sleep(0.05)
    platform.wakeups.end_waits()
    assert await waiting
    assert await heard(platform, "also later")


class Shelf:
    """Something to wait for, and how often it was looked at."""

    def __init__(self, again: float = 15.0) -> None:
        self.things: list[str] = []
        self.looks = 0
        self._again = again

    async def read(self) -> PollResult[list[str]]:
        self.looks += 1
        return PollResult(list(self.things), bool(self.things), self._again)


async def test_a_long_poll_answers_with_what_there_is_at_once(platform: Platform) -> None:
    shelf = Shelf()
    shelf.things.append("a")
    assert await asyncio.wait_for(platform.wakeups.long_poll("shelf", shelf.read, 30), HANG) == ["a"]
    assert shelf.looks == 1


async def test_a_long_poll_looks_again_when_woken_and_only_then(platform: Platform) -> None:
    shelf = Shelf()
    waiting = asyncio.create_task(platform.wakeups.long_poll("shelf", shelf.read, 30))
    await asyncio.sleep(0.05)
    platform.wakeups.wake("shelf")  # for something else: there is still nothing
    await asyncio.sleep(0.05)
    assert not waiting.done()
    shelf.things.append("a")
    platform.wakeups.wake("other")
    await asyncio.sleep(0.05)
    assert not waiting.done()
    platform.wakeups.wake("shelf")
    assert await asyncio.wait_for(waiting, HANG) == ["a"]
    assert shelf.looks >= 3


async def test_what_comes_while_a_long_poll_looks_is_not_missed(platform: Platform) -> None:
    things: list[str] = []

    async def read() -> PollResult[list[str]]:
        seen = list(things)
        things.append("came after the look")
        platform.wakeups.wake("shelf")
        return PollResult(seen, bool(seen))

    assert await asyncio.wait_for(platform.wakeups.long_poll("shelf", read, 30), HANG)


async def test_a_long_poll_that_nobody_wakes_ends_with_nothing_and_without_another_look(platform: Platform) -> None:
    shelf = Shelf()
    assert await asyncio.wait_for(platform.wakeups.long_poll("shelf", shelf.read, 0.1), HANG) == []
    assert shelf.looks == 1


async def test_a_long_poll_looks_by_its_timer_too(platform: Platform) -> None:
    shelf = Shelf(again=0.05)
    waiting = asyncio.create_task(platform.wakeups.long_poll("shelf", shelf.read, 30))
    await asyncio.sleep(0.1)
    shelf.things.append("a")
    assert await asyncio.wait_for(waiting, HANG) == ["a"]


async def test_when_the_process_is_to_end_a_long_poll_answers_with_what_there_is(platform: Platform) -> None:
    shelf = Shelf()
    waiting = asyncio.create_task(platform.wakeups.long_poll("shelf", shelf.read, 30))
    await asyncio.sleep(0.05)
    platform.wakeups.end_waits()
    assert await asyncio.wait_for(waiting, HANG) == []
