"""Answers that go on for long: watches, long polls and terminals. Each caller, project and tenant may have so many at once.

Counted in each api process by itself: with several, a caller may have as many at each. Node agents are not callers here.
"""

from collections import Counter
from collections.abc import AsyncIterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings

RETRY_SECONDS = "5"


@dataclass(frozen=True, slots=True)
class StreamOwner:
    """Against whom a stream counts; an empty id is no limit. People of the platform have no tenant of their own."""

    caller_id: str
    project_id: str
    tenant_id: str


@dataclass(slots=True)
class StreamLimits:
    """How many streams there are, and may be. One for each api process."""

    settings: Settings
    _open: Counter[tuple[str, str]] = field(default_factory=Counter)

    @contextmanager
    def opened(self, owner: StreamOwner, kind: str) -> Iterator[None]:
        """While the stream lives. Problem `too_many_streams` when one of its owners has too many."""
        counted = self._counted(owner)
        for (what, identifier), limit in counted:
            if self._open[what, identifier] >= limit:
                metrics.streams_refused.labels(what).inc()
                raise _too_many(what, limit)
        for name, _ in counted:
            self._open[name] += 1
        metrics.streams.labels(kind).inc()
        try:
            yield
        finally:
            metrics.streams.labels(kind).dec()
            for name, _ in counted:
                self._forget(name)

    def _counted(self, owner: StreamOwner) -> list[tuple[tuple[str, str], int]]:
        limits = [
            (("caller", owner.caller_id), self.settings.streams_per_caller),
            (("project", owner.project_id), self.settings.streams_per_project),
            (("tenant", owner.tenant_id), self.settings.streams_per_tenant),
        ]
        return [(name, limit) for name, limit in limits if name[1]]

    def _forget(self, name: tuple[str, str]) -> None:
        self._open[name] -= 1
        if not self._open[name]:
            del self._open[name]


def _too_many(what: str, limit: int) -> Problem:
    whose = {"caller": "You have", "project": "The project has", "tenant": "The tenant has"}[what]
    return Problem(
        "too_many_streams",
        f"{whose} {limit} streams open, which is the limit of the {what}.",
        {"limit": what, "streams": limit},
        {"Retry-After": RETRY_SECONDS},
    )


class LimitedStream(StreamingResponse):
    """A streaming answer that counts while it is sent, and not when it never begins."""

    def __init__(
        self, content: AsyncIterable[bytes], media_type: str, limits: StreamLimits, owner: StreamOwner, kind: str
    ) -> None:
        super().__init__(content, media_type=media_type)
        self._limits = limits
        self._owner = owner
        self._kind = kind

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._limits.opened(self._owner, self._kind):
            await super().__call__(scope, receive, send)
