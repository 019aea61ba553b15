"""A running replica of an app's controller: it polls for operations, runs several at a time, and checks health.

Any number of replicas share the work: the platform gives each operation to one of them, and to another if that one ends.
"""

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass, field

from gpuaas_sdk.controller.app import AppController
from gpuaas_sdk.controller.client import ControllerClient
from gpuaas_sdk.controller.context import StepHook
from gpuaas_sdk.controller.health_checks import check_instances
from gpuaas_sdk.controller.heartbeats import Heartbeats
from gpuaas_sdk.controller.lease import Lease
from gpuaas_sdk.controller.metrics import Metrics
from gpuaas_sdk.controller.operation_runner import run_operation
from gpuaas_sdk.errors import Denied, GpuaasError, NotFound, Unauthenticated
from gpuaas_sdk.generated.models import WorkItem

FIRST_PAUSE, MAX_PAUSE = 0.1, 10.0
log = logging.getLogger(__name__)


def no_step_hook(step: str) -> None:
    """Does nothing. Only tests use a step hook."""


@dataclass
class Replica:
    """One running process of a controller: it claims up to `concurrency` operations and runs the app's handlers."""

    app: AppController
    client: ControllerClient
    concurrency: int = 8
    step_hook: StepHook = no_step_hook
    metrics: Metrics = field(default_factory=Metrics)
    _running: dict[asyncio.Task[None], Lease] = field(default_factory=dict)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _pause: float = FIRST_PAUSE

    async def run(self) -> None:
        """Work until `stop` is called, or until the platform no longer accepts this service account."""
        unfinished = await self.client.list_own_operations()
        log.info("Connected to the platform. Operations to resume: %d", len(unfinished))
        for item in unfinished:
            await self._start(item)
        heartbeats = Heartbeats(self.app, self.client)
        beating = asyncio.create_task(heartbeats.run())
        health_checks = asyncio.create_task(self._check_health_forever())
        try:
            while not self._stopping.is_set():
                await self._poll_once()
        finally:
            health_checks.cancel()
            beating.cancel()
            await asyncio.wait({health_checks, beating})
            await heartbeats.end()

    async def stop(self, grace: float = 30.0) -> None:
        """Claim nothing new. Running operations finish their current step and go back to the platform for another replica."""
        self._stopping.set()
        for lease in self._running.values():
            lease.interrupted = True
        if self._running:
            await asyncio.wait(set(self._running), timeout=grace)
        late = set(self._running)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)

    async def _poll_once(self) -> None:
        if len(self._running) >= self.concurrency:
            await self._wait_unless_stopping(_first_of(set(self._running)))
            return
        try:
            found = await self._wait_unless_stopping(self.client.poll())
        except (Unauthenticated, Denied, NotFound):
            raise  # a retry would not help
        except GpuaasError as error:
            log.warning("The poll for operations failed: %s", error)
            await self._back_off()
            return
        if found:
            await self._start_some(found)

    async def _start_some(self, found: "list[WorkItem]") -> None:
        free = self.concurrency - len(self._running)
        started = [await self._start(item) for item in found[:free]]
        if any(started):
            self._pause = FIRST_PAUSE
        else:  # other replicas claimed them first; they leave the list in a moment
            await self._back_off()

    async def _start(self, item: WorkItem) -> bool:
        try:
            lease = await self.client.claim(item.id, item.project_id)
        except GpuaasError as error:
            log.warning("%s was not claimed: %s", item.id, error)
            return False
        if lease is None:
            return False
        self.metrics.count_claim(lease.claimed.operation)
        task = asyncio.create_task(self._run_operation(lease))
        self._running[task] = lease
        task.add_done_callback(lambda ended: self._running.pop(ended, None))
        return True

    async def _run_operation(self, lease: Lease) -> None:
        kind, attempt = lease.claimed.operation.kind, lease.claimed.operation.attempt
        log.info("%s starts, attempt %d", lease.title, attempt)
        outcome = await run_operation(self.app, lease, self.step_hook)
        self.metrics.count_end(kind, outcome)
        log.info("%s ended: %s", lease.title, outcome)

    async def _check_health_forever(self) -> None:
        while True:
            try:
                await check_instances(self.app, self.client)
            except GpuaasError as error:
                log.warning("Health was not reported: %s", error)
            except Exception:
                log.exception("The health check failed")
            await asyncio.sleep(self.app.health_seconds)

    async def _back_off(self) -> None:
        await self._wait_unless_stopping(asyncio.sleep(self._pause))
        self._pause = min(MAX_PAUSE, self._pause * 2)

    async def _wait_unless_stopping(self, call: "Coroutine[object, object, object]") -> "list[WorkItem]":
        """The answer of the call, or an empty list when this replica is stopped first."""
        answer, stopping = asyncio.ensure_future(call), asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({answer, stopping}, return_when=asyncio.FIRST_COMPLETED)
            found = answer.result() if answer.done() else None
            return found if isinstance(found, list) else []
        finally:
            answer.cancel()
            stopping.cancel()


async def _first_of(tasks: set[asyncio.Task[None]]) -> None:
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
