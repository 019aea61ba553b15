"""What waits for a reader is bounded, and goes to the right process."""

import asyncio
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.logs import delivery
from gpuaas_server.logs.delivery import LogDelivery
from gpuaas_server.logs.readers import MOST_CHARACTERS, MOST_WAITING, LogReader, LogReaders, Portion
from gpuaas_server.logs.schemas import LogLine, LogPortion, PortionLine
from gpuaas_server.logs.tickets import LIFE, Ticket, write_ticket
from gpuaas_server.peers.service import PeerServer, StreamChannel

NODE, READ, MEMBER, ALLOCATION = "nod_1", "lgr_1", "mem_1", "alc_1"


def line(number: int, text: str = "x") -> LogLine:
    at = datetime.fromtimestamp(number, UTC)
    return LogLine(
        cursor=f"s=1;i={number:x}", at=at, member_id=MEMBER, source="a.service", level=None, text=text, cut=False
    )


def test_a_slow_reader_gets_the_newest_lines_and_the_number_of_the_others() -> None:
    reader = LogReader()
    for begin in range(0, 3 * MOST_WAITING, 500):
        reader.deliver(Portion([line(n) for n in range(begin, begin + 500)]))
    taken = reader.take()
    assert taken is not None
    assert (len(taken.lines), taken.left_out) == (MOST_WAITING, 2 * MOST_WAITING)
    assert taken.lines[-1] == line(3 * MOST_WAITING - 1)
    reader.deliver(Portion([line(n, "y" * 4096) for n in range(500)]))
    taken = reader.take()
    assert taken is not None
    assert sum(len(one.text) for one in taken.lines) <= MOST_CHARACTERS
    assert taken.left_out == 500 - len(taken.lines) > 0


def test_a_portion_that_comes_twice_is_shown_once() -> None:
    reader = LogReader()
    for _ in range(2):
        reader.deliver(Portion([line(1), line(2)]))
    taken = reader.take()
    assert taken is not None
    assert taken.lines == [line(1), line(2)]
    assert reader.take() is None


def test_readers_of_one_host_are_limited_and_those_of_another_are_not() -> None:
    readers = LogReaders(1)
    with readers.reading("lgr_a", NODE, "alc_1"):
        with pytest.raises(Problem, match="this host is 1 reader at"), readers.reading("lgr_b", NODE, "alc_2"):
            pass
    with readers.reading("lgr_c", "nod_2", "alc_3"), readers.reading("lgr_d", NODE, "alc_1"):
        pass


def test_one_allocation_has_a_quarter_of_its_hosts_readers() -> None:
    readers = LogReaders(8)
    with ExitStack() as stack:
        for number in range(2):
            stack.enter_context(readers.reading(f"lgr_{number}", NODE, "alc_1"))
        with pytest.raises(Problem) as refused, readers.reading("lgr_2", NODE, "alc_1"):
            pass
        assert refused.value.details == {"limit": "allocation", "streams": 2}
        for number in range(3, 9):
            stack.enter_context(readers.reading(f"lgr_{number}", NODE, f"alc_{number}"))
        with pytest.raises(Problem, match="this host is 8 readers"), readers.reading("lgr_9", NODE, "alc_9"):
            pass
    assert not readers._places
    with readers.reading("lgr_1", NODE, "alc_1"):
        assert readers.has("lgr_1")


async def test_lines_reach_the_reader_at_another_process_and_only_by_a_ticket_of_their_node(platform: Platform) -> None:
    here, there = LogReaders(4), LogReaders(4)
    reading, receiving = PeerServer(platform), PeerServer(platform)
    LogDelivery(platform, here, reading)
    elsewhere = LogDelivery(platform, there, receiving)
    lines = [
        PortionLine(cursor=f"s=1;i={n:x}", at=n, source="a.service", text="\u00e4" * 4000, priority=3, cut=False)
        for n in range(300)
    ]
    async with reading.running(), receiving.running():
        ticket = write_ticket(platform.sealer, Ticket(READ, MEMBER, NODE, reading.address), platform.clock())
        body = LogPortion(ticket=ticket, lines=lines, left_out=7, more=True)
        with here.reading(READ, NODE, ALLOCATION) as reader:
            forged = body.model_copy(update={"ticket": ticket[:-2] + ("00" if ticket[-2:] != "00" else "11")})
            for node_id, read_id, shown in (("nod_2", READ, body), (NODE, "lgr_other", body), (NODE, READ, forged)):
                with pytest.raises(Problem, match="did not request these lines"):
                    await elsewhere.deliver(node_id, read_id, shown)
            assert reader.take() is None
            assert await elsewhere.deliver(NODE, READ, body)
            taken = reader.take()
        assert taken is not None
        assert len(taken.lines) + taken.left_out == 307
        assert (taken.lines[0].level, taken.lines[0].member_id, taken.more) == ("error", MEMBER, True)
        assert not await elsewhere.deliver(NODE, READ, body)
    assert not await elsewhere.deliver(NODE, READ, body)


async def test_a_peer_that_falls_silent_holds_a_portion_for_a_short_time(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent, receiving = PeerServer(platform), PeerServer(platform)
    taker = LogDelivery(platform, LogReaders(4), receiving)
    over = asyncio.Event()

    async def take_nothing(_: str, channel: StreamChannel) -> None:
        await channel.send({"type": "ready"})
        await over.wait()

    silent.offer(delivery.KIND, take_nothing)
    monkeypatch.setattr(delivery, "SECONDS", 0.2)
    lines = [
        PortionLine(cursor=f"s=1;i={n:x}", at=n, source="a.service", text="x" * 4000, priority=3, cut=False)
        for n in range(500)
    ]
    async with silent.running(), receiving.running(), asyncio.timeout(30):
        ticket = write_ticket(platform.sealer, Ticket(READ, MEMBER, NODE, silent.address), platform.clock())
        for some in (lines[:1], lines):
            body = LogPortion(ticket=ticket, lines=some, left_out=0, more=False)
            assert not await taker.deliver(NODE, READ, body)
        over.set()


async def test_lines_that_nobody_reads_are_not_even_cleaned_and_a_ticket_ends(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = LogReaders(4)
    reading, receiving = PeerServer(platform), PeerServer(platform)
    local, elsewhere = LogDelivery(platform, here, reading), LogDelivery(platform, LogReaders(4), receiving)
    cleaned: list[str] = []

    def portion_of(member_id: str, *_: object) -> Portion:
        cleaned.append(member_id)
        return Portion()

    monkeypatch.setattr(delivery, "portion_of", portion_of)
    async with reading.running(), receiving.running():
        ticket = Ticket(READ, MEMBER, NODE, reading.address)
        sealed, old = (
            write_ticket(platform.sealer, ticket, platform.clock() - age) for age in (LIFE - timedelta(minutes=1), LIFE)
        )
        body = LogPortion(ticket=sealed, lines=[], left_out=0, more=False)
        for taker in (local, elsewhere):
            assert not await taker.deliver(NODE, READ, body)
        assert not cleaned
        with here.reading(READ, NODE, ALLOCATION):
            for taker in (local, elsewhere):
                assert await taker.deliver(NODE, READ, body)
                assert not await taker.deliver(NODE, READ, body.model_copy(update={"ticket": old}))
    assert cleaned == [MEMBER, MEMBER]
