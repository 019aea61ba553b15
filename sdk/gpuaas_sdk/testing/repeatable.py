"""The proof that handlers may be repeated: each is interrupted after every one of its steps, resumed by another replica,
and at last run twice in a row. What then is there must be what one quiet run leaves; the test says how to see that.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from gpuaas_sdk.controller import AppController, ControllerSettings
from gpuaas_sdk.controller.app import Handler
from gpuaas_sdk.controller.context import Context
from gpuaas_sdk.controller.failures import Interrupted
from gpuaas_sdk.testing.replicas import running
from gpuaas_sdk.testing.stage import as_replica


@dataclass
class Interruptions:
    """Lets each attempt at an operation come one step further than the last one.

    The interruption falls between the work of a step and the word that it is done, where a crash hurts most: the step has
    happened, and nobody knows.
    """

    operation_id: str = ""
    allowed: int = 0  # steps that the current attempt may finish
    passed: int = 0
    seen: list[str] = field(default_factory=list)  # the step after which each interruption of the last operation fell

    def begin(self, operation_id: str) -> None:
        self.passed = 0
        if operation_id != self.operation_id:
            self.operation_id, self.allowed, self.seen = operation_id, 0, []

    def gate(self, step: str) -> None:
        self.passed += 1
        if self.passed > self.allowed:
            self.allowed += 1
            self.seen.append(step)
            raise Interrupted


class Repeated(AppController):
    """The app under proof: every handler that came through runs once more before its operation ends."""

    def __init__(self, app: AppController, interruptions: Interruptions) -> None:
        self._app, self._interruptions = app, interruptions
        self.slug, self.components, self.health_seconds = app.slug, app.components, app.health_seconds
        self.health = app.health  # type: ignore[method-assign]

    def handler(self, kind: str) -> Handler:
        inner = self._app.handler(kind)

        async def twice(ctx: Context) -> None:
            self._interruptions.begin(ctx.operation.id)
            await inner(ctx)
            self._interruptions.allowed = 1_000_000  # it came through: the second run is not interrupted any more
            await inner(ctx)

        return twice


@asynccontextmanager
async def proving(app: AppController, settings: ControllerSettings) -> AsyncIterator[Interruptions]:
    """Two replicas that hand every operation to and fro. Ask for operations in the block, one after the other; `seen` says
    where the last one was interrupted.
    """
    interruptions = Interruptions()
    under_proof = Repeated(app, interruptions)
    first, second = as_replica(settings, "proof-1"), as_replica(settings, "proof-2")
    async with running(under_proof, first, interruptions.gate), running(under_proof, second, interruptions.gate):
        yield interruptions
