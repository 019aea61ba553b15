"""One way to a place for all operations that ask there at the same time: to log in costs a host more than most questions.

Each operation has a way of its own, with a certificate of its own. While it is at work it lends it to others of the same
place; one way serves all, and who leaves waits until its guests are through.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from gpuaas_sdk import GpuaasError
from gpuaas_sdk.controller import Host, HostUnreachable
from gpuaas_sdk.controller.failures import Interrupted, LeaseLost

Answer = TypeVar("Answer")
Question = Callable[[Host], Awaitable[Answer]]


@dataclass(eq=False)
class _Way:
    host: Host
    guests: int = 0
    empty: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, question: "Question[Answer]") -> Answer:
        self.guests += 1
        try:
            return await question(self.host)
        finally:
            self.guests -= 1
            if not self.guests:
                self.empty.set()

    async def until_empty(self) -> None:
        while self.guests:
            self.empty.clear()
            await self.empty.wait()


class Ways:
    def __init__(self) -> None:
        self._lent: dict[str, list[_Way]] = {}  # in the order in which they came
        self._used: dict[str, _Way] = {}

    @asynccontextmanager
    async def lent(self, place: str, host: Host) -> AsyncIterator[None]:
        mine = _Way(host)
        self._lent.setdefault(place, []).append(mine)
        try:
            yield
        finally:
            self._lent[place].remove(mine)
            if not self._lent[place]:
                del self._lent[place]
            if self._used.get(place) is mine:
                del self._used[place]
            await mine.until_empty()

    async def ask(self, place: str, own: Host, question: "Question[Answer]") -> Answer:
        """Questions may be repeated: where another's way does not lead there any more, it is asked again by one's own."""
        lent = self._lent.get(place)
        if lent:
            used = self._used.setdefault(place, lent[-1])  # who came last leaves last
            if used.host is not own:
                try:
                    return await used.ask(question)
                except (HostUnreachable, GpuaasError, LeaseLost, Interrupted):
                    pass  # that the lender's operation ended, and how, is none of the guest's
        return await question(own)
