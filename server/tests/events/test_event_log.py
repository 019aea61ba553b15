"""The event log: nothing is skipped, whatever the order of commits; waits wake, streams resume, the relay keeps order."""

import asyncio
import json
from pathlib import Path

import pytest

from gpuaas_server.events import queries, service, streams
from gpuaas_server.events.relay import JsonLinesSink, relay
from gpuaas_server.events.schemas import Event
from gpuaas_server.events.service import EventFilter, EventPosition, NewEvent
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM, Scope
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from tests_support.select import select

ACTOR = system_actor("test", "correlation-of-a-test")
TENANT, PROJECT, OTHER = new_id("tnt"), new_id("prj"), new_id("prj")


def news(subject: str, project: str = PROJECT) -> NewEvent:
    return NewEvent("thing.happened", subject, TENANT, project, {"subject": subject})


async def emit(platform: Platform, *subjects: str) -> None:
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await service.emit(tx, *(news(subject) for subject in subjects))


async def read(platform: Platform, after: EventPosition, wait: float = 0.0) -> tuple[list[str], EventPosition]:
    page = await service.event_page(platform, PLATFORM, EventFilter(PROJECT), after, wait, 100)
    position = service.parse_cursor(page.next_cursor)
    assert position is not None
    return [event.subject for event in page.items], position


async def test_a_reader_skips_nothing_when_an_older_transaction_commits_later(platform: Platform) -> None:
    """The slow transaction drew its position first; the quick one must not be shown before it, or it would be skipped."""
    async with platform.transaction(PLATFORM, ACTOR) as slow:
        await service.emit(slow, news("first"))
        await slow.flush()
        cursor = await select(slow.connection, "SELECT 1 AS sent")
        await cursor.fetchone()  # the insert has been executed, and is not committed
        await emit(platform, "second")
        seen, position = await read(platform, EventPosition())
        assert seen == []
    seen, position = await read(platform, position)
    assert seen == ["first", "second"]


async def test_a_reader_looks_again_soon_for_what_is_settled_while_it_looks(platform: Platform) -> None:
    """The older transaction ends between the reader's two questions. It concerns somebody else, so nobody is woken."""
    wanted, position = EventFilter(PROJECT), EventPosition()
    async with platform.transaction(PLATFORM, ACTOR) as slow:
        await service.emit(slow, news("elsewhere", OTHER))
        await slow.flush()
        cursor = await select(slow.connection, "SELECT 1 AS sent")
        await cursor.fetchone()
        await emit(platform, "mine")
        async with platform.database.connection(PLATFORM) as connection:
            assert await queries.event_list(connection, wanted, position, 10) == []
    async with platform.database.connection(PLATFORM) as connection:
        assert await queries.event_unsettled(connection, wanted, position)


async def test_what_others_have_not_settled_keeps_no_reader_looking(platform: Platform) -> None:
    async with platform.transaction(PLATFORM, ACTOR) as slow:
        await service.emit(slow, news("elsewhere", OTHER))
        await slow.flush()
        cursor = await select(slow.connection, "SELECT 1 AS sent")
        await cursor.fetchone()
        async with platform.transaction(PLATFORM, ACTOR) as quick:
            await service.emit(quick, news("elsewhere too", OTHER))
        async with platform.database.connection(PLATFORM) as connection:
            look = await service.event_look(connection, EventFilter(PROJECT), EventPosition(), 10)
        assert (look.enough, look.again) == (False, service.LONGEST_PAUSE)


async def test_many_writers_and_a_reader_agree_on_every_event(platform: Platform) -> None:
    async def write(writer: int) -> None:
        for number in range(20):
            await emit(platform, f"w{writer}-{number}")

    writing = asyncio.gather(*(write(writer) for writer in range(6)))
    seen: list[str] = []
    position = EventPosition()
    async with asyncio.timeout(30):
        while len(seen) < 120:
            found, position = await read(platform, position, wait=1)
            seen += found
    await writing
    assert len(set(seen)) == 120
    for writer in range(6):
        own = [subject for subject in seen if subject.startswith(f"w{writer}-")]
        assert own == [f"w{writer}-{number}" for number in range(20)]


async def test_a_waiting_reader_wakes_for_an_event_of_another_process(platform: Platform, settings: Settings) -> None:
    async with running_platform(settings) as other:
        waiting = asyncio.create_task(read(platform, EventPosition(), wait=20))
        await asyncio.sleep(0.2)
        await emit(other, "news")
        seen, _ = await asyncio.wait_for(waiting, 10)
    assert seen == ["news"]


async def test_a_reader_sees_its_own_tenant_and_project_only(platform: Platform) -> None:
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await service.emit(tx, news("ours"), news("theirs", OTHER))
    foreign = Scope(tenant_id=new_id("tnt"))
    page = await service.event_page(platform, foreign, EventFilter(PROJECT), EventPosition(), 0, 10)
    assert page.items == []
    own = await service.event_page(platform, Scope(TENANT), EventFilter(PROJECT), EventPosition(), 0, 10)
    assert [event.subject for event in own.items] == ["ours"]


async def test_the_tail_ends_where_the_future_begins(platform: Platform) -> None:
    await emit(platform, "a", "b", "c")
    tail = await service.event_tail(platform, PLATFORM, EventFilter(PROJECT), 2)
    assert [event.subject for event in tail.items] == ["b", "c"]
    end = await service.event_tail(platform, PLATFORM, EventFilter(PROJECT), 0)
    await emit(platform, "d")
    seen, _ = await read(platform, service.parse_cursor(end.next_cursor) or EventPosition())
    assert seen == ["d"]


async def allowed() -> bool:
    return True


async def test_a_stream_ends_when_its_reader_may_no_longer_read(platform: Platform) -> None:
    await emit(platform, "a")
    answers = iter([True, False])

    async def until_revoked() -> bool:
        return next(answers)

    stream = streams.event_stream(platform, PLATFORM, EventFilter(PROJECT), EventPosition(), until_revoked)
    assert len([chunk async for chunk in stream]) == 2  # the opening and the one event


async def test_a_stream_resumes_after_the_last_event_id(platform: Platform) -> None:
    await emit(platform, "a", "b")
    stream = streams.event_stream(platform, PLATFORM, EventFilter(PROJECT), EventPosition(), allowed)
    chunks = [await anext(stream) for _ in range(2)]
    await stream.aclose()  # type: ignore[attr-defined]
    last = chunks[1].split(b"\n")[0].removeprefix(b"id: ").decode()
    resumed = streams.event_stream(
        platform, PLATFORM, EventFilter(PROJECT), service.parse_cursor(last) or EventPosition(), allowed
    )
    assert await anext(resumed) == b": stream open\n\n"
    assert b'"subject":"b"' in await anext(resumed)
    await resumed.aclose()  # type: ignore[attr-defined]


@pytest.mark.parametrize("garbage", ["x", "1", "1.", ".1", "1.2.3", "-1.2", "9" * 30 + ".1", "9223372036854775808.1"])
def test_a_cursor_that_is_not_ours_is_refused(garbage: str) -> None:
    with pytest.raises(Problem, match="invalid_cursor"):
        service.parse_cursor(garbage)


class Unlucky:
    """A sink that loses its first answer after it has stored the events."""

    name = "unlucky"

    def __init__(self) -> None:
        self.stored: list[str] = []
        self.fail = True

    def deliver(self, events: list[Event]) -> None:
        self.stored += [event.subject for event in events]
        if self.fail:
            self.fail = False
            raise OSError("the answer was lost")


async def test_the_relay_delivers_everything_in_order_and_again_when_in_doubt(
    platform: Platform, tmp_path: Path
) -> None:
    file, unlucky = tmp_path / "events.jsonl", Unlucky()
    relays = [asyncio.create_task(relay(platform, sink)) for sink in (JsonLinesSink(file), unlucky)]
    await emit(platform, "a", "b")
    async with asyncio.timeout(20):
        while not file.exists() or len(unlucky.stored) < 4:
            await asyncio.sleep(0.05)
    for one in relays:
        one.cancel()
    await asyncio.gather(*relays, return_exceptions=True)
    assert unlucky.stored == ["a", "b", "a", "b"]
    again = asyncio.create_task(relay(platform, JsonLinesSink(file)))
    await emit(platform, "c")
    async with asyncio.timeout(20):
        while len(file.read_text().splitlines()) < 3:
            await asyncio.sleep(0.05)
    again.cancel()
    await asyncio.gather(again, return_exceptions=True)
    assert [json.loads(line)["subject"] for line in file.read_text().splitlines()] == ["a", "b", "c"]


async def test_a_line_that_a_killed_relay_left_torn_is_replaced_by_the_whole_event(
    platform: Platform, tmp_path: Path
) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(b'{"subject":"whole"}\n{"subject":"to' + b"r" * 100_000)
    await emit(platform, "torn")
    relaying = asyncio.create_task(relay(platform, JsonLinesSink(file)))
    async with asyncio.timeout(20):
        while not file.read_bytes().endswith(b"\n"):
            await asyncio.sleep(0.02)
    relaying.cancel()
    await asyncio.gather(relaying, return_exceptions=True)
    assert [json.loads(line)["subject"] for line in file.read_text().splitlines()] == ["whole", "torn"]
