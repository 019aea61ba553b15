"""Streams: watches, long polls and terminals. Each caller, project and tenant may have a limited number of them.

The limits of projects and tenants are quotas, with settings as defaults; that of callers is a setting. Each api process
counts for itself: with several, a caller may have as many at each. Node agents are not counted.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import field

from starlette.requests import ClientDisconnect, Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from gpuaas_server.kernel import metrics, tasks
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.quotas import RAISED_BY, StreamQuota
from gpuaas_server.kernel.settings import Settings

RETRY_SECONDS = "5"


@dataclass(frozen=True, slots=True)
class StreamOwner:
    """Against whom a stream counts; an empty id has no limit. Users of the platform have no tenant."""

    caller_id: str
    project_id: str
    tenant_id: str


@dataclass(slots=True)
class StreamLimits:
    """Counts the streams of one api process against their limits."""

    settings: Settings
    read_quota: Callable[[str, str], Awaitable[StreamQuota]]  # by tenant and project; asked for each stream, so cached
    _open: Counter[tuple[str, str]] = field(default_factory=Counter)

    @asynccontextmanager
    async def opened(self, owner: StreamOwner, kind: str) -> AsyncIterator[None]:
        """Count a stream while it lives. It raises `too_many_streams` when one of its owners has too many."""
        counted = await self._counted(owner)
        for (what, identifier), limit in counted:
            if self._open[what, identifier] >= limit:
                metrics.streams_refused.labels(what).inc()
                raise _too_many(what, limit, self._open[what, identifier])
        for name, _ in counted:
            self._open[name] += 1
        metrics.streams.labels(kind).inc()
        try:
            yield
        finally:
            metrics.streams.labels(kind).dec()
            for name, _ in counted:
                self._forget(name)

    async def _counted(self, owner: StreamOwner) -> list[tuple[tuple[str, str], int]]:
        settings = self.settings
        quota = await self.read_quota(owner.tenant_id, owner.project_id) if owner.tenant_id else StreamQuota()
        limits = [
            (("caller", owner.caller_id), settings.streams_per_caller),
            (("project", owner.project_id), quota.project or settings.streams_per_project),
            (("tenant", owner.tenant_id), quota.tenant or settings.streams_per_tenant),
        ]
        return [(name, limit) for name, limit in limits if name[1]]

    def _forget(self, name: tuple[str, str]) -> None:
        self._open[name] -= 1
        if not self._open[name]:
            del self._open[name]


def _too_many(what: str, limit: int, used: int) -> Problem:
    details: dict[str, object] = {"limit": what, "streams": limit, "used": used}
    if what == "caller":
        said = f"A caller may have {limit} streams, and you have {used} open."
    else:
        said = f"The {what}'s quota is {limit} streams, and {used} are open. A {RAISED_BY[what]} can raise it."
        details |= {"quota": "streams", "scope": what, "raised_by": RAISED_BY[what]}
    return Problem("too_many_streams", said, details, {"Retry-After": RETRY_SECONDS})


class LimitedStream(StreamingResponse):
    """A streaming answer that counts only while it is sent."""

    def __init__(
        self, content: AsyncIterable[bytes], media_type: str, limits: StreamLimits, owner: StreamOwner, kind: str
    ) -> None:
        super().__init__(_until_refused(content), media_type=media_type)
        self._limits = limits
        self._owner = owner
        self._kind = kind

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._limits.opened(self._owner, self._kind):
            await super().__call__(scope, receive, send)


async def _until_refused(content: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Yield the content, and end where it is refused: the status is sent, and a client that reconnects gets the refusal."""
    with suppress(Problem):
        async for portion in content:
            yield portion


@asynccontextmanager
async def ended_by_disconnect(request: Request) -> AsyncIterator[None]:
    """Raise `ClientDisconnect` in the block when the client closes its connection. The body must have been read."""
    block = asyncio.current_task()
    if block is None:
        raise RuntimeError("a request is answered by a task")
    watch = asyncio.create_task(_wait_for_disconnect(request))
    watch.add_done_callback(lambda ended: None if ended.cancelled() else block.cancel())
    try:
        yield
    except asyncio.CancelledError:
        if watch.done() and block.uncancel() == 0:
            raise ClientDisconnect from None
        raise
    finally:
        await tasks.stop(watch)


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
