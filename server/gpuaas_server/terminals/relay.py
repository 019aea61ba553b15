"""The relay of a terminal, in the process that has the host's stream: bytes both ways until the first reason to end.

Every reason is a task of its own that returns an `End`; the first one that does decides, and the others are cancelled.
"""

import asyncio
import logging
from collections.abc import Awaitable, Collection
from contextlib import suppress

import psycopg
from psycopg_pool import PoolTimeout

from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.printable import printable_text
from gpuaas_server.kernel.tasks import stop
from gpuaas_server.terminals import holder_lease, machine, service
from gpuaas_server.terminals.channels import Channel, ChannelClosed, Message, StreamChannel
from gpuaas_server.terminals.machine import End, end
from gpuaas_server.terminals.rows import TerminalRow
from gpuaas_server.terminals.schemas import MOST_COLUMNS, MOST_ROWS
from gpuaas_server.terminals.service import stored_end

GOODBYE_SECONDS = 5.0
# The exit status of ssh when its connection was cut, and how long to wait for the cause, such as revoked access.
CUT_OFF, REASON_SECONDS = 255, 2.0
DATABASE_ERRORS = (psycopg.Error, PoolTimeout, Problem)
log = logging.getLogger(__name__)


class Relay:
    def __init__(self, platform: Platform, row: TerminalRow, host: Channel) -> None:
        self.over: asyncio.Future[End] = asyncio.get_running_loop().create_future()
        self.told = asyncio.Event()  # the person has heard of the end, as far as they could
        self._platform = platform
        self._row = row
        self._host = host
        self._viewer: asyncio.Future[Channel] = asyncio.get_running_loop().create_future()
        self._opened = asyncio.Event()
        self._bytes_in = self._bytes_out = 0
        self._last = asyncio.get_running_loop().time()

    def attach(self, viewer: Channel) -> bool:
        """Join the person, once: a terminal has one person in front of it."""
        if self._viewer.done() or self.over.done():
            return False
        self._viewer.set_result(viewer)
        return True

    def give_up(self, why: End) -> None:
        """End the relay. The task that watches the person's rights calls this."""
        if not self.over.done():
            self.over.set_result(why)

    async def run(self) -> None:
        reasons: list[Awaitable[End]] = [
            self._from_host(),
            self._from_viewer(),
            self._clocks(),
            self._watch(),
            self.over,
        ]
        tasks = [asyncio.ensure_future(reason) for reason in reasons]
        try:
            with metrics.terminals.track_inprogress():
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await stop(*tasks[:-1])
        await self._finish(_reason(done))

    async def _finish(self, why: End) -> None:
        """Close the host's side first: whatever happens here, its shell must end."""
        with suppress(ChannelClosed, TimeoutError):
            async with asyncio.timeout(GOODBYE_SECONDS):
                await self._host.send({"type": "close", "reason": why.reason})
                await self._host.close()
        try:
            why = await holder_lease.terminal_end(self._platform, self._row, why, self._bytes_in, self._bytes_out)
        except DATABASE_ERRORS as error:
            log.warning("the end of a terminal could not be written; its lease will lapse", extra={"error": str(error)})
        if not self.over.done():
            self.over.set_result(why)
        if self._viewer.done():
            viewer = self._viewer.result()
            with suppress(ChannelClosed, TimeoutError):
                async with asyncio.timeout(GOODBYE_SECONDS):
                    await viewer.send(why.document())
                    await viewer.close()
        self.told.set()

    async def _from_host(self) -> End:
        while True:
            try:
                message = await self._host.receive()
            except ChannelClosed:
                return end("host_lost")
            if isinstance(message, bytes):
                self._last = asyncio.get_running_loop().time()
                self._bytes_out += len(message)
                await self._show(message)
            elif message.get("type") == "opened":
                if not await holder_lease.terminal_opened(self._platform, self._row):
                    return await self._stored_end()
                self._opened.set()
                await self._show({"type": "opened"})
            elif message.get("type") == "ended":
                if message.get("exit_status") == CUT_OFF:
                    await asyncio.sleep(REASON_SECONDS)
                return _reported_end(message)

    async def _show(self, message: Message) -> None:
        """Send to the person, and wait for them to come: what the shell says first must not be lost."""
        viewer = await asyncio.shield(self._viewer)
        with suppress(ChannelClosed):  # the task that receives from the viewer notices it too, and returns the end
            await viewer.send(message)

    async def _from_viewer(self) -> End:
        viewer = await asyncio.shield(self._viewer)
        while True:
            try:
                message = await viewer.receive()
            except ChannelClosed:
                return end("closed")
            if isinstance(viewer, StreamChannel) and isinstance(message, dict) and message.get("type") == "give_up":
                return end("access_lost")  # said by the process that the person came to; a browser has no say in it
            try:
                await self._pass_on(message)
            except ChannelClosed:
                return end("host_lost")

    async def _pass_on(self, message: Message) -> None:
        if isinstance(message, bytes):
            self._last = asyncio.get_running_loop().time()
            self._bytes_in += len(message)
            await self._host.send(message)
        elif (size := resize_of(message)) is not None:
            await self._host.send(size)

    async def _clocks(self) -> End:
        """Return when nobody came in time, nothing moved for long, or the longest time is over."""
        left = (self._row.open_by - self._platform.clock()).total_seconds()
        try:
            async with asyncio.timeout(max(left, 0.0)):
                await asyncio.shield(self._viewer)
                await self._opened.wait()
        except TimeoutError:
            who = "The host did not open a shell" if self._viewer.done() else "Nobody came to the stream"
            return end("not_opened", f"{who} in time.")
        loop = asyncio.get_running_loop()
        self._last = loop.time()  # the time that opening took does not count as idle
        longest = self._last + self._row.max_seconds
        while (now := loop.time()) < longest:
            idle_at = self._last + self._row.idle_seconds
            if now >= idle_at:
                return machine.idle_end(self._row.idle_seconds)
            await asyncio.sleep(min(idle_at, longest) - now)
        return machine.longest_end(self._row.max_seconds)

    async def _watch(self) -> End:
        """Renew the lease, and return when somebody else has ended the terminal. An unavailable database ends nothing."""
        async with self._platform.wakeups.waiting(service.topic(self._row.id)) as woken:
            while True:
                woken.clear()
                if self._platform.wakeups.ending:
                    return end("interrupted")
                with suppress(*DATABASE_ERRORS):
                    carried = (self._bytes_in, self._bytes_out)
                    if not await holder_lease.terminal_renew(self._platform, self._row, *carried):
                        return await self._stored_end()
                with suppress(TimeoutError):
                    async with asyncio.timeout(machine.RENEWED.total_seconds()):
                        await woken.wait()

    async def _stored_end(self) -> End:
        row = await holder_lease.terminal_state(self._platform, self._row.id)
        if row is None or row.status != "ended":
            return end("interrupted")  # the lease lapsed, and the terminal is not ours any more
        return stored_end(row)


def _reason(done: Collection[asyncio.Future[End]]) -> End:
    for task in done:
        if task.exception() is None:
            return task.result()
    for task in done:
        error = task.exception()
        if isinstance(error, DATABASE_ERRORS):
            log.warning("a terminal ended, since the database is not available", extra={"error": str(error)})
        else:
            log.error("a terminal ended by an error", exc_info=error)
    return end("interrupted")


def _reported_end(message: dict[str, object]) -> End:
    status = message.get("exit_status")
    if message.get("failed"):
        return end("not_opened", printable_text(str(message.get("message") or ""))[:300])
    return machine.exit_end(status if isinstance(status, int) and 0 <= status <= 255 else None)


def resize_of(message: dict[str, object]) -> dict[str, object] | None:
    """Read the one small message that a person's side may send; return None for anything else."""
    columns, rows = message.get("columns"), message.get("rows")
    if message.get("type") != "resize" or not isinstance(columns, int) or not isinstance(rows, int):
        return None
    if not (1 <= columns <= MOST_COLUMNS and 1 <= rows <= MOST_ROWS):
        return None
    return {"type": "resize", "columns": columns, "rows": rows}
