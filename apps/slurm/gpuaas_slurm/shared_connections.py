"""Lets operations that use the same host at the same time share one connection: a login costs a host more than most requests.

Each operation has its own connection, with its own certificate, and shares it while it works. All operations use one of
the shared connections. An operation that ends waits until nobody uses its connection any more.
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
HostCall = Callable[[Host], Awaitable[Answer]]


@dataclass(eq=False)
class _SharedConnection:
    host: Host
    users: int = 0
    unused: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, call: "HostCall[Answer]") -> Answer:
        self.users += 1
        try:
            return await call(self.host)
        finally:
            self.users -= 1
            if not self.users:
                self.unused.set()

    async def wait_until_unused(self) -> None:
        while self.users:
            self.unused.clear()
            await self.unused.wait()


class SharedConnections:
    def __init__(self) -> None:
        self._shared: dict[str, list[_SharedConnection]] = {}  # by target, in the order in which they were shared
        self._used: dict[str, _SharedConnection] = {}

    @asynccontextmanager
    async def share(self, target: str, host: Host) -> AsyncIterator[None]:
        """Shares the connection during the block. The end of the block waits for calls that use it."""
        mine = _SharedConnection(host)
        self._shared.setdefault(target, []).append(mine)
        try:
            yield
        finally:
            self._shared[target].remove(mine)
            if not self._shared[target]:
                del self._shared[target]
            if self._used.get(target) is mine:
                del self._used[target]
            await mine.wait_until_unused()

    async def run(self, target: str, own: Host, call: "HostCall[Answer]") -> Answer:
        """Runs the call on a shared connection, or on `own`. The call must be repeatable: if a shared connection fails, it
        runs again on `own`.
        """
        shared = self._shared.get(target)
        if shared:
            used = self._used.setdefault(target, shared[-1])  # the last to come is likely the last to leave
            if used.host is not own:
                try:
                    return await used.run(call)
                except (HostUnreachable, GpuaasError, LeaseLost, Interrupted):
                    pass  # the end of the other operation must not affect this one
        return await call(own)
