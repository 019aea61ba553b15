"""A terminal between a host and a person, both of them pipes in memory: each reason to end, and what is passed on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.terminals import holder_lease, machine, relay, viewer
from gpuaas_server.terminals.channels import ChannelClosed, Message
from gpuaas_server.terminals.relay import Relay, resize_of
from gpuaas_server.terminals.relay_server import RelayServer
from gpuaas_server.terminals.rows import TerminalRow
from tests_support.agents import MovableClock, ssh_line
from tests_support.grounds import EchoLab

SECONDS = 10.0


@dataclass
class Pipe:
    """One end of a line; room for one message, as the real ones."""

    inbox: "asyncio.Queue[Message | None]" = field(default_factory=lambda: asyncio.Queue(1))
    outbox: "asyncio.Queue[Message | None]" = field(default_factory=lambda: asyncio.Queue(1))

    def other(self) -> "Pipe":
        return Pipe(self.outbox, self.inbox)

    async def receive(self) -> Message:
        message = await self.inbox.get()
        if message is None:
            raise ChannelClosed
        return message

    async def send(self, message: Message) -> None:
        await self.outbox.put(message)

    async def close(self) -> None:
        await self.outbox.put(None)


@dataclass
class Stage:
    platform: Platform
    relay: Relay
    host: Pipe
    person: Pipe
    terminal: dict[str, Any]
    ground: EchoLab

    async def opens(self) -> None:
        await self.host.send({"type": "opened"})
        assert await self.told() == {"type": "opened"}

    async def told(self) -> Message:
        async with asyncio.timeout(SECONDS):
            return await self.person.receive()

    async def ends(self) -> dict[str, object]:
        """What the person hears last; the host is told, too."""
        async with asyncio.timeout(SECONDS):
            while True:
                message = await self.person.receive()
                if isinstance(message, dict) and message["type"] == "ended":
                    return message


@asynccontextmanager
async def staged(
    ground: EchoLab, attach: bool = True, holder: str = "127.0.0.1:1/x", **limits: Any
) -> AsyncIterator[Stage]:
    platform = ground.site.platform
    path = f"/projects/{ground.project}/allocations/{ground.allocation}/terminals"
    terminal = await ground.site.admin.post(path, {})
    node = Actor(ground.host.node_id, "node", "host-1")
    taken = await holder_lease.terminal_take(
        platform, holder_lease.AnsweringNode(node, 1), terminal["id"], ssh_line(), holder
    )
    near_host, near_person = Pipe(), Pipe()
    relayed = Relay(platform, replace(taken.row, **limits), near_host)
    if attach:
        assert relayed.attach(near_person)
    running = asyncio.create_task(relayed.run())
    stage = Stage(platform, relayed, near_host.other(), near_person.other(), terminal, ground)
    drain = asyncio.create_task(_drain(stage)) if not attach else None
    try:
        yield stage
    finally:
        for task in (running, drain):
            if task is not None:
                task.cancel()


async def _drain(stage: Stage) -> None:
    while True:
        await stage.host.inbox.get()


async def reason(stage: Stage) -> str:
    row = await holder_lease.terminal_state(stage.platform, stage.terminal["id"])
    assert row is not None
    return str(row.reason)


async def test_bytes_go_both_ways_and_are_counted(ground: EchoLab) -> None:
    async with staged(ground) as stage:
        await stage.opens()
        await stage.host.send(b"prompt$ ")
        assert await stage.told() == b"prompt$ "
        await stage.person.send(b"ls\n")
        assert await stage.host.receive() == b"ls\n"
        await stage.person.send({"type": "resize", "columns": 99, "rows": 22})
        assert await stage.host.receive() == {"type": "resize", "columns": 99, "rows": 22}
        await stage.host.send({"type": "ended", "exit_status": 4})
        assert await stage.host.receive() == {"type": "close", "reason": "exited"}
        assert (await stage.ends())["exit_status"] == 4
        row = await holder_lease.terminal_state(stage.platform, stage.terminal["id"])
        assert row is not None
        assert (row.reason, row.bytes_in, row.bytes_out) == ("exited", 3, 8)


async def test_a_shell_whose_output_is_not_read_is_slowed_down(ground: EchoLab) -> None:
    async with staged(ground) as stage:
        await stage.opens()
        sending = asyncio.create_task(_flood(stage))
        await asyncio.sleep(0.5)
        sending.cancel()
        assert stage.relay._bytes_out <= 4000  # one message in each queue, one in hand


async def _flood(stage: Stage) -> None:
    while True:
        await stage.host.send(bytes(1000))


async def test_nothing_for_a_while_is_the_end(ground: EchoLab) -> None:
    async with staged(ground, idle_seconds=1) as stage:
        await stage.opens()
        ended = await stage.host.receive()
        assert ended == {"type": "close", "reason": "idle"}
        assert (await stage.ends())["reason"] == "idle"


async def test_the_longest_time_is_the_end_however_busy_it_is(ground: EchoLab) -> None:
    async with staged(ground, idle_seconds=1, max_seconds=1) as stage:
        await stage.opens()
        busy = asyncio.create_task(_keep_busy(stage))
        assert (await stage.ends())["reason"] == "max_time"
        busy.cancel()


async def _keep_busy(stage: Stage) -> None:
    while True:
        await stage.host.send(b".")
        await asyncio.sleep(0.05)


async def test_closing_the_terminal_at_another_process_ends_it_here(ground: EchoLab) -> None:
    async with staged(ground) as stage:
        await stage.opens()
        path = f"/projects/{ground.project}/allocations/{ground.allocation}/terminals/{stage.terminal['id']}"
        await ground.site.admin.post(f"{path}/close")
        assert (await stage.ends())["reason"] == "closed"


async def test_the_bytes_are_counted_whichever_side_ends_the_terminal(
    ground: EchoLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "RENEWED", timedelta(seconds=0.05))
    renewed: asyncio.Queue[tuple[int, ...]] = asyncio.Queue()
    renew = holder_lease.terminal_renew

    async def seen(platform: Platform, row: TerminalRow, *carried: int) -> bool:
        lives = await renew(platform, row, *carried)
        renewed.put_nowait(carried)
        return lives

    monkeypatch.setattr(holder_lease, "terminal_renew", seen)
    async with staged(ground) as stage, asyncio.timeout(SECONDS):
        await stage.opens()
        await stage.host.send(b"prompt$ ")
        assert await stage.told() == b"prompt$ "
        await stage.person.send(b"ls\n")
        assert await stage.host.receive() == b"ls\n"
        while await renewed.get() != (3, 8):
            pass
        path = f"/projects/{ground.project}/allocations/{ground.allocation}/terminals/{stage.terminal['id']}"
        closed = await ground.site.admin.post(f"{path}/close")
        assert (closed["bytes_in"], closed["bytes_out"]) == (3, 8)


async def test_a_person_who_reads_nothing_more_has_until_it_counts_as_idle(
    ground: EchoLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "GOODBYE_SECONDS", 0.2)
    async with staged(ground, idle_seconds=1) as stage, asyncio.timeout(SECONDS):
        await stage.opens()
        sending = asyncio.create_task(_flood(stage))
        assert await stage.host.receive() == {"type": "close", "reason": "idle"}
        sending.cancel()
        await stage.relay.told.wait()
        assert await reason(stage) == "idle"


async def test_a_host_or_a_person_that_goes_ends_it(ground: EchoLab) -> None:
    async with staged(ground) as stage:
        await stage.opens()
        await stage.host.close()
        assert (await stage.ends())["reason"] == "host_lost"
    async with staged(ground) as stage:
        await stage.opens()
        await stage.person.close()
        assert await stage.host.receive() == {"type": "close", "reason": "closed"}
        await stage.ends()
        assert await reason(stage) == "closed"


async def test_a_terminal_without_a_stream_in_time_ends(ground: EchoLab) -> None:
    soon = ground.site.platform.clock()
    async with staged(ground, attach=False, open_by=soon) as stage, asyncio.timeout(SECONDS):
        await stage.relay.told.wait()
        assert await reason(stage) == "not_opened"


async def test_a_terminal_has_one_person_in_front_of_it(ground: EchoLab) -> None:
    async with staged(ground) as stage:
        assert not stage.relay.attach(Pipe())


async def watched(ground: EchoLab, relay_server: RelayServer, terminal_id: str) -> dict[str, object]:
    """What somebody is told who comes to another process than the holder's, and is sent away."""

    async def still_there() -> bool:
        return True

    row = await holder_lease.terminal_state(ground.site.platform, terminal_id)
    assert row is not None
    person = Pipe()
    watching_it = asyncio.create_task(viewer.watch(ground.site.platform, relay_server, row, person, still_there))
    async with asyncio.timeout(SECONDS):
        told = await person.other().receive()
        assert await person.outbox.get() is None
        await watching_it
    assert isinstance(told, dict)
    return told


async def test_a_second_viewer_at_another_process_is_refused_and_ends_nothing(ground: EchoLab) -> None:
    here, there = RelayServer(ground.site.platform), RelayServer(ground.site.platform)
    async with here.running(), staged(ground, holder=here.address) as stage:
        here.relays[stage.terminal["id"]] = stage.relay
        await stage.opens()
        told = await watched(ground, there, stage.terminal["id"])
        assert told["message"] == "Somebody is at this terminal already."
        await stage.host.send(b"goes on")
        assert await stage.told() == b"goes on"
        assert await reason(stage) == "None"


async def test_a_holder_that_is_not_reached_is_given_up_when_its_lease_is_over(
    ground: EchoLab, clock: MovableClock
) -> None:
    platform = ground.site.platform
    path = f"/projects/{ground.project}/allocations/{ground.allocation}/terminals"
    terminal = await ground.site.admin.post(path, {})
    node = Actor(ground.host.node_id, "node", "host-1")
    taken = await holder_lease.terminal_take(
        platform, holder_lease.AnsweringNode(node, 1), terminal["id"], ssh_line(), "127.0.0.1:1/x"
    )
    assert (await watched(ground, RelayServer(platform), terminal["id"]))["reason"] == "interrupted"
    assert await holder_lease.terminal_renew(platform, taken.row, 0, 0)  # it may only be us who do not reach it
    clock.ahead += machine.LEASE
    assert (await watched(ground, RelayServer(platform), terminal["id"]))["reason"] == "interrupted"
    assert not await holder_lease.terminal_renew(platform, taken.row, 0, 0)


async def test_a_carrier_that_is_stopped_leaves_nothing_running(ground: EchoLab) -> None:
    def carrying_on() -> bool:
        return any("Relay." in getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks())

    async with staged(ground) as stage:
        await stage.opens()
        assert carrying_on()
    async with asyncio.timeout(SECONDS):
        while carrying_on():
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "message",
    [
        {"type": "give_up", "reason": "released"},
        {"type": "resize", "columns": 0, "rows": 10},
        {"type": "resize", "columns": 10, "rows": 10**9},
        {"type": "resize", "columns": "80", "rows": 24},
        {"type": "ended"},
        {},
    ],
)
def test_a_person_says_nothing_but_a_sensible_size(message: dict[str, object]) -> None:
    assert resize_of(message) is None


async def test_two_processes_join_and_a_stranger_does_not(ground: EchoLab) -> None:
    here, there = RelayServer(ground.site.platform), RelayServer(ground.site.platform)
    stranger = RelayServer(replace(ground.site.platform, sealer=type(ground.site.platform.sealer)(bytes(32))))
    async with here.running(), staged(ground, attach=False) as stage:
        here.relays[stage.terminal["id"]] = stage.relay
        with pytest.raises(ChannelClosed):
            await stranger.dial(here.address, stage.terminal["id"])
        with pytest.raises(ChannelClosed):
            await there.dial(here.address, "trm_01jb2c3d4e5f6g7h8j9kamnpqr")
        line = await there.dial(here.address, stage.terminal["id"])
        await stage.host.send({"type": "opened"})
        assert await line.receive() == {"type": "opened"}
        await stage.host.send(bytes(200_000))
        assert await line.receive() == bytes(200_000)
        with pytest.raises(ChannelClosed):  # one person
            await there.dial(here.address, stage.terminal["id"])
        await line.send({"type": "give_up"})
        last = await line.receive()
        assert isinstance(last, dict)
        assert last["reason"] == "access_lost"


async def test_a_database_that_is_away_is_one_line_in_the_log_and_no_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ended: asyncio.Future[machine.End] = asyncio.get_running_loop().create_future()
    ended.set_exception(psycopg.OperationalError("the connection is lost"))
    assert relay._reason([ended]).reason == "interrupted"
    [line] = caplog.records
    assert (line.levelname, line.exc_info, line.__dict__["error"]) == ("WARNING", None, "the connection is lost")
