"""Knows who reads logs at this process now. A reader's lines wait here for a moment, bounded: what is too much is counted."""

import asyncio
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.logs.schemas import LogLine

MOST_WAITING = 2000  # lines
MOST_CHARACTERS = 1_000_000
RETRY_SECONDS = "5"


@dataclass(frozen=True, slots=True)
class Portion:
    """Lines that came together, ready to be shown."""

    lines: list[LogLine] = field(default_factory=list)
    left_out: int = 0
    more: bool = False


@dataclass(slots=True)
class LogReader:
    """One page or stream. `arrived` is set when there is something to take."""

    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    _waiting: deque[LogLine] = field(default_factory=deque)
    _characters: int = 0
    _left_out: int = 0
    _more: bool = False
    _last: frozenset[str] = frozenset()  # cursors of the newest portion: an agent that got no answer sends it again

    def deliver(self, portion: Portion) -> None:
        fresh = [line for line in portion.lines if line.cursor not in self._last]
        if portion.lines:
            self._last = frozenset(line.cursor for line in portion.lines)
        for line in fresh:
            self._waiting.append(line)
            self._characters += len(line.text)
        while len(self._waiting) > MOST_WAITING or self._characters > MOST_CHARACTERS:
            self._characters -= len(self._waiting.popleft().text)
            self._left_out += 1
        self._left_out += portion.left_out
        self._more = portion.more
        self.arrived.set()

    def take(self) -> Portion | None:
        """Take the portions that have arrived; None when none has, not even an empty one."""
        if not self.arrived.is_set():
            return None
        self.arrived.clear()
        taken = Portion(list(self._waiting), self._left_out, self._more)
        self._waiting.clear()
        self._characters = self._left_out = 0
        return taken


class LogReaders:
    """The readers of this process, by the id of the read. Those of one host are limited, whoever they are; one allocation
    has a quarter of them at most, so that its readers leave some to the other tenants of the host.
    """

    def __init__(self, most_per_host: int) -> None:
        self._most = {"host": most_per_host, "allocation": max(1, most_per_host // 4)}
        self._readers: dict[str, LogReader] = {}
        self._places: Counter[str] = Counter()  # hosts and allocations

    @contextmanager
    def reading(self, read_id: str, node_id: str, allocation_id: str) -> Iterator[LogReader]:
        for limit, place in (("allocation", allocation_id), ("host", node_id)):
            self._refuse_too_many(limit, place)
        self._places.update((node_id, allocation_id))
        reader = self._readers[read_id] = LogReader()
        try:
            yield reader
        finally:
            del self._readers[read_id]
            self._places -= Counter((node_id, allocation_id))  # subtracting also drops the entries that reach zero

    def _refuse_too_many(self, limit: str, place: str) -> None:
        most = self._most[limit]
        if self._places[place] >= most:
            raise Problem(
                "too_many_streams",
                f"The limit for the logs of this {limit} is {most} {'reader' if most == 1 else 'readers'} at a time.",
                {"limit": limit, "streams": most},
                {"Retry-After": RETRY_SECONDS},
            )

    def has(self, read_id: str) -> bool:
        return read_id in self._readers

    def deliver(self, read_id: str, portion: Portion) -> bool:
        """Give the portion to its reader. Return whether there is one."""
        reader = self._readers.get(read_id)
        if reader is not None:
            reader.deliver(portion)
        return reader is not None
