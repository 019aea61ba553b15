"""Wake-ups between processes over LISTEN/NOTIFY, so that nothing polls.

Sent after the commit and coalesced: a NOTIFY inside a transaction would serialise all commits behind one lock.
A lost wake-up (process killed between commit and NOTIFY) costs time, never work: every waiter also has a timer.
"""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Generic, TypeVar

from psycopg import AsyncConnection
from psycopg.errors import ReadOnlySqlTransaction

from gpuaas_server.kernel.database_health import CONNECT_OPTIONS, OUTAGE_ERRORS, DatabaseHealth
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.tasks import stop

log = logging.getLogger(__name__)

CHANNEL = "gpuaas"
RECONNECT_PAUSE = 0.05
STANDBY_PAUSE = 0.5
# The first wake-up is sent at once; those that follow within a pause are sent together. The pause is a multiple of the time
# that sending takes, so that sending takes at most a tenth of the time: it grows when the database or this process is busy.
LONGEST_SEND_PAUSE = 0.02
PAUSE_PER_SEND = 9.0
LONGEST_PAUSE = 15.0
READ_SECONDS = 1.0  # of what has arrived; more than that is there only when it was no notification
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class PollResult(Generic[Found]):
    """Holds what one read of the database found, and whether that is enough to answer."""

    found: Found
    enough: bool
    again: float = LONGEST_PAUSE  # seconds after which to read again, though nobody has woken us


class Wakeups:
    """`wake("task:nod_…")` in one process sets every `waiting("task:nod_…")` in all processes."""

    def __init__(self, database_url: str, health: DatabaseHealth | None = None) -> None:
        self._url = database_url
        self._health = health or DatabaseHealth()
        self._waiters: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._outgoing: set[str] = set()
        self._something_to_send = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._listeners_ready = asyncio.Event()
        self._sender = 0  # the backend of the connection that we send by
        self._lost = False
        self.ending = False

    async def open(self) -> None:
        self._tasks = [
            asyncio.create_task(self._forever(self._receive), name="wakeups-receive"),
            asyncio.create_task(self._forever(self._send), name="wakeups-send"),
        ]
        with suppress(TimeoutError):
            async with asyncio.timeout(10):
                await self._listeners_ready.wait()

    async def close(self) -> None:
        await stop(*self._tasks)

    def end_waits(self) -> None:
        """End all waits, since the process ends: every long poll looks once more and answers with what there is."""
        self.ending = True
        for event in [e for waiters in self._waiters.values() for e in waiters]:
            event.set()

    def wake(self, *topics: str) -> None:
        self._outgoing.update(topics)
        self._something_to_send.set()
        for topic in topics:  # waiters of this very process need no round trip
            self._set(topic)

    @asynccontextmanager
    async def waiting(self, *topics: str) -> AsyncIterator[asyncio.Event]:
        """Subscribe to a topic. Subscribe before you look, then look, then wait on the event: no wake-up falls in between."""
        event = asyncio.Event()
        if self.ending:
            event.set()
        for topic in topics:
            self._waiters[topic].add(event)
        try:
            yield event
        finally:
            for topic in topics:
                self._waiters[topic].discard(event)
                if not self._waiters[topic]:
                    del self._waiters[topic]

    async def long_poll(
        self, topic: str, read: Callable[[], Awaitable[PollResult[Found]]], seconds: float, further: Sequence[str] = ()
    ) -> Found:
        """Return what the first read finds that is enough, or the last one after `seconds`. `further` topics wake it too.

        The end of the time is no wake-up, so it causes no further read.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        async with self.waiting(topic, *further) as woken:
            while True:
                woken.clear()
                seen = await read()
                left = deadline - loop.time()
                if seen.enough or left <= 0 or self.ending:
                    return seen.found
                if not await _wait_for_wakeup(woken, min(left, seen.again)) and left <= seen.again:
                    return seen.found

    def _set(self, topic: str) -> None:
        for event in self._waiters.get(topic, ()):
            event.set()

    async def _forever(self, loop: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await loop()
            except (*OUTAGE_ERRORS, OSError) as error:
                log.info("wake-up connection lost, connecting again", extra={"error": str(error)})
                if isinstance(error, ReadOnlySqlTransaction):  # a standby lets nobody listen until it is promoted
                    await asyncio.sleep(STANDBY_PAUSE)
            await asyncio.sleep(RECONNECT_PAUSE)
            self._lost = True

    async def _connect(self) -> AsyncConnection[tuple[object, ...]]:
        connection = await self._health.connect(
            lambda: AsyncConnection.connect(self._url, autocommit=True, **CONNECT_OPTIONS)
        )
        if self._lost:  # other connections may be lost too, although the outage was too short for a failed connect
            self._lost = False
            self._health.announce_return()
        return connection

    async def _receive(self) -> None:
        connection = await self._connect()
        async with connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            self._listeners_ready.set()
            for event in [e for waiters in self._waiters.values() for e in waiters]:
                event.set()  # wake-ups may have been lost while the connection was down: wake all waiters
            while True:
                await _await_data(connection.fileno())
                async for notification in connection.notifies(timeout=READ_SECONDS, stop_after=1):
                    if notification.pid == self._sender:
                        continue  # our own, coming back: our waiters were woken when it was sent
                    for topic in notification.payload.split(" "):
                        self._set(topic)

    async def _send(self) -> None:
        connection = await self._connect()
        async with connection:
            self._sender = connection.info.backend_pid
            while True:
                await self._something_to_send.wait()
                self._something_to_send.clear()
                topics, self._outgoing = sorted(self._outgoing), set()
                begun = time.monotonic()
                try:
                    await self._notify(connection, topics)
                except BaseException:
                    self._outgoing.update(topics)
                    self._something_to_send.set()
                    raise
                await asyncio.sleep(min(LONGEST_SEND_PAUSE, PAUSE_PER_SEND * (time.monotonic() - begun)))

    async def _notify(self, connection: AsyncConnection[tuple[object, ...]], topics: list[str]) -> None:
        payloads, line = [], ""
        for topic in topics:  # a payload holds at most 8000 bytes
            if len(line) + len(topic) > 7000:
                payloads.append(line)
                line = ""
            line = f"{line} {topic}" if line else topic
        if line:
            payloads.append(line)
        await connection.execute("SELECT pg_notify(%s, p) FROM unnest(%s::text[]) p", (CHANNEL, payloads))


async def _await_data(fileno: int) -> None:
    """Wait until there is something to read. The driver's own wait looks ten times a second."""
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()
    loop.add_reader(fileno, arrived.set)
    try:
        await arrived.wait()
    finally:
        loop.remove_reader(fileno)


async def _wait_for_wakeup(woken: asyncio.Event, seconds: float) -> bool:
    """Wait, and say whether a wake-up came."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            return await woken.wait()
    return False
