"""Proves that handlers are repeatable: each is interrupted after every step, resumed by another replica, and finally run
twice in a row. The result must be the same as after one quiet run; the test checks that.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from gpuaas_sdk.controller import AppController, ControllerSettings
from gpuaas_sdk.controller.app import Handler
from gpuaas_sdk.controller.context import Context
from gpuaas_sdk.controller.failures import Interrupted
from gpuaas_sdk.testing.catalog_app import as_replica
from gpuaas_sdk.testing.replicas import running_replica


@dataclass
class Interruptions:
    """Lets each attempt at an operation finish one more step than the last one.

    It interrupts between the work of a step and its report, where a crash does the most harm: the step has happened, and
    no report says so.
    """

    operation_id: str = ""
    allowed: int = 0  # steps that the current attempt may finish
    passed: int = 0
    seen: list[str] = field(default_factory=list)  # the step after which each interruption of the last operation fell

    def begin(self, operation_id: str) -> None:
        self.passed = 0
        if operation_id != self.operation_id:
            self.operation_id, self.allowed, self.seen = operation_id, 0, []

    def interrupt(self, step: str) -> None:
        self.passed += 1
        if self.passed > self.allowed:
            self.allowed += 1
            self.seen.append(step)
            raise Interrupted


class RepeatingApp(AppController):
    """Wraps an app: every handler that came through runs once more before its operation ends."""

    def __init__(self, app: AppController, interruptions: Interruptions) -> None:
        self._app, self._interruptions = app, interruptions
        self.slug, self.components, self.health_seconds = app.slug, app.components, app.health_seconds
        self.health = app.health  # type: ignore[method-assign]

    def handler(self, kind: str) -> Handler:
        handler = self._app.handler(kind)

        async def run_twice(ctx: Context) -> None:
            self._interruptions.begin(ctx.operation.id)
            await handler(ctx)
            self._interruptions.allowed = 1_000_000  # it came through: the second run is not interrupted any more
            await handler(ctx)

        return run_twice


@asynccontextmanager
async def interrupting_replicas(app: AppController, settings: ControllerSettings) -> AsyncIterator[Interruptions]:
    """Runs two replicas that pass every operation back and forth. Request operations in the block, one at a time; `seen`
    has the steps after which the last one was interrupted.
    """
    interruptions = Interruptions()
    repeating, hook = RepeatingApp(app, interruptions), interruptions.interrupt
    first, second = as_replica(settings, "interrupted-1"), as_replica(settings, "interrupted-2")
    async with running_replica(repeating, first, hook), running_replica(repeating, second, hook):
        yield interruptions
