"""Many streams of the same events: one look for all of them, and nobody misses, repeats or sees too much."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gpuaas_server.events import service, streams
from gpuaas_server.events.schemas import Event
from gpuaas_server.events.service import EventFilter, EventPosition, NewEvent
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM, Connection, Scope
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.wakeups import PollResult

ACTOR = system_actor("test", "correlation-of-a-test")
TENANT, PROJECT = new_id("tnt"), new_id("prj")
WATCHERS = 200


async def emit(platform: Platform, *subjects: str) -> None:
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await service.emit(tx, *(NewEvent("thing.happened", subject, TENANT, PROJECT) for subject in subjects))


async def allowed() -> bool:
    return True


async def subjects(platform: Platform, scope: Scope, count: int) -> list[str]:
    """Of the first so many events that a stream of the project brings."""
    seen: list[str] = []
    stream = streams.event_stream(platform, scope, EventFilter(PROJECT), EventPosition(), allowed)
    async for chunk in stream:
        frames = [frame for frame in chunk.split(b"\n\n") if frame.startswith(b"id: ")]
        seen += [Event.model_validate_json(frame.partition(b"data: ")[2]).subject for frame in frames]
        if len(seen) >= count:
            break
    await stream.aclose()  # type: ignore[attr-defined]
    return seen


@asynccontextmanager
async def watched(platform: Platform, count: int, events: int) -> AsyncIterator[list[asyncio.Task[list[str]]]]:
    tasks = [asyncio.create_task(subjects(platform, Scope(TENANT), events)) for _ in range(count)]
    await asyncio.sleep(0.5)  # all of them wait
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[EventFilter]:
    """What was asked of the database so far."""
    asked: list[EventFilter] = []
    real = service.event_look

    async def counted(
        connection: Connection, wanted: EventFilter, after: EventPosition, limit: int
    ) -> PollResult[list[Event]]:
        asked.append(wanted)
        return await real(connection, wanted, after, limit)

    monkeypatch.setattr(service, "event_look", counted)
    return asked


async def test_one_query_serves_all_watchers_of_the_same(platform: Platform, looks: list[EventFilter]) -> None:
    async with watched(platform, WATCHERS, 1) as tasks:
        before = len(looks)
        await emit(platform, "news")
        assert await asyncio.wait_for(asyncio.gather(*tasks), 20) == [["news"]] * WATCHERS
    assert len(looks) - before < WATCHERS / 10


async def test_a_watcher_of_one_subject_sleeps_while_others_change_and_wakes_for_it(
    platform: Platform, looks: list[EventFilter]
) -> None:
    mine = EventFilter(PROJECT, "mine")
    waiting = asyncio.create_task(service.event_page(platform, Scope(TENANT), mine, EventPosition(), 20, 10))
    await asyncio.sleep(0.3)
    before = len(looks)
    await emit(platform, *(f"other-{number}" for number in range(20)))
    await asyncio.sleep(0.3)
    assert looks[before:] == []
    await emit(platform, "mine")
    page = await asyncio.wait_for(waiting, 10)
    assert [event.subject for event in page.items] == ["mine"]


async def test_every_watcher_sees_every_event_once_and_in_order(platform: Platform) -> None:
    names = [f"event-{number}" for number in range(60)]
    async with watched(platform, 20, len(names)) as tasks:
        for name in names:
            await emit(platform, name)
            await asyncio.sleep(0.002 * (len(name) % 3))
        assert await asyncio.wait_for(asyncio.gather(*tasks), 30) == [names] * 20


async def test_a_watcher_that_comes_during_a_query_is_served_as_well(platform: Platform) -> None:
    tasks = []
    for _ in range(WATCHERS):
        tasks.append(asyncio.create_task(subjects(platform, Scope(TENANT), 1)))
        await asyncio.sleep(0.0005)  # looks of those before are on their way, at every stage
    await emit(platform, "news")
    assert await asyncio.wait_for(asyncio.gather(*tasks), 20) == [["news"]] * WATCHERS


async def test_a_watcher_that_leaves_during_a_query_takes_nothing_from_the_others(platform: Platform) -> None:
    async with watched(platform, 20, 1) as tasks:
        await emit(platform, "news")
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        assert await asyncio.wait_for(asyncio.gather(*tasks[1::2]), 20) == [["news"]] * 10


async def test_a_shared_query_shows_no_watcher_another_tenants_events(platform: Platform) -> None:
    foreign = asyncio.create_task(subjects(platform, Scope(new_id("tnt")), 1))
    async with watched(platform, 5, 1) as tasks:
        await emit(platform, "ours")
        assert await asyncio.wait_for(asyncio.gather(*tasks), 20) == [["ours"]] * 5
    await asyncio.sleep(0.2)
    assert not foreign.done()
    foreign.cancel()


async def test_a_query_that_fails_fails_for_its_watchers_and_not_for_later_ones(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> PollResult[list[Event]]:
        raise Problem("unavailable")

    with monkeypatch.context() as patched:
        patched.setattr(service, "event_look", broken)
        both = [asyncio.create_task(subjects(platform, Scope(TENANT), 1)) for _ in range(2)]
        results = await asyncio.gather(*both, return_exceptions=True)
    assert [str(result) for result in results] == [str(Problem("unavailable"))] * 2
    await emit(platform, "news")
    assert await asyncio.wait_for(subjects(platform, Scope(TENANT), 1), 10) == ["news"]
