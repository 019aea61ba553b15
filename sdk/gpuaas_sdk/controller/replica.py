"""A running replica of an app's controller: it polls for operations, runs several at a time, and checks health.

Any number of replicas share the work: the platform gives each operation to one of them, and to another if that one ends.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Collection, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from gpuaas_sdk.controller.app import AppController
from gpuaas_sdk.controller.client import POLL_SECONDS, ControllerClient
from gpuaas_sdk.controller.context import StepHook
from gpuaas_sdk.controller.health_checks import check_instances
from gpuaas_sdk.controller.heartbeats import Heartbeats
from gpuaas_sdk.controller.lease import Lease
from gpuaas_sdk.controller.metrics import Metrics
from gpuaas_sdk.controller.operation_runner import run_operation
from gpuaas_sdk.controller.served_apps import ServedApps
from gpuaas_sdk.controller.slots import Slots
from gpuaas_sdk.errors import Denied, GpuaasError, NotFound, Unauthenticated
from gpuaas_sdk.generated.models import WorkItem

FIRST_PAUSE, MAX_PAUSE = 0.1, 10.0
Answer = TypeVar("Answer")
log = logging.getLogger(__name__)


def no_step_hook(step: str) -> None:
    """Do nothing. Only tests use a step hook."""


@dataclass(frozen=True, slots=True)
class RunningOperation:
    lease: Lease
    tenant_id: str


@dataclass
class Replica:
    """One running process of a controller: it claims up to `concurrency` operations and runs the app's handlers.

    When one tenant holds them all, others still get a few beyond (`Slots`).
    """

    app: AppController
    client: ControllerClient
    concurrency: int = 8
    step_hook: StepHook = no_step_hook
    metrics: Metrics = field(default_factory=Metrics)
    _running: dict[asyncio.Task[None], RunningOperation] = field(default_factory=dict)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _pause: float = FIRST_PAUSE

    def __post_init__(self) -> None:
        self._apps = ServedApps(self.app, self.client)

    async def run(self) -> None:
        """Work until `stop` is called, or until the platform no longer accepts this service account."""
        unfinished = await self.client.list_own_operations()
        log.info("Connected to the platform. Operations to resume: %d", len(unfinished))
        for item in unfinished:
            await self._start(item)
        await self._apps.refresh()
        heartbeats = Heartbeats(self.app, self.client, self._apps)
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
        for running in self._running.values():
            running.lease.interrupted = True
        if self._running:
            await asyncio.wait(set(self._running), timeout=grace)
        late = set(self._running)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)

    async def _poll_once(self) -> None:
        slots, claimed, running = Slots(self.concurrency), self._claimed(), set(self._running)
        if not slots.has_room(claimed):
            first = asyncio.wait(running, timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            ended = await self._wait_unless_stopping(first)
            if ended is not None and not ended[0]:
                await self._apps.refresh()
            return
        refused = slots.tenants_refused(claimed)
        try:  # while tenants are refused, the end of an operation changes who may get a slot: ask again
            found = await self._wait_unless_stopping(self.client.poll(refused), running if refused else ())
        except (Unauthenticated, Denied, NotFound):
            raise  # a retry would not help
        except GpuaasError as error:
            log.warning("The poll for operations failed: %s", error)
            await self._back_off()
            return
        if found:
            await self._start_some(slots.choose(found, self._claimed()))
        elif found is not None:  # an app may have been bound
            await self._apps.refresh()

    def _claimed(self) -> Counter[str]:
        return Counter(running.tenant_id for running in self._running.values())

    async def _start_some(self, chosen: Sequence[WorkItem]) -> None:
        started = [await self._start(item) for item in chosen]
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
        self._running[task] = RunningOperation(lease, item.tenant_id)
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
                await check_instances(self.app, self.client, self._apps)
            except GpuaasError as error:
                log.warning("Health was not reported: %s", error)
            except Exception:
                log.exception("The health check failed")
            await asyncio.sleep(self.app.health_seconds)

    async def _back_off(self) -> None:
        await self._wait_unless_stopping(asyncio.sleep(self._pause))
        self._pause = min(MAX_PAUSE, self._pause * 2)

    async def _wait_unless_stopping(
        self, call: Coroutine[object, object, Answer], others: Collection[asyncio.Task[None]] = ()
    ) -> Answer | None:
        """Return the answer of the call. None when this replica is stopped, or one of the others has ended, first."""
        answer, stopping = asyncio.create_task(call), asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({answer, stopping, *others}, return_when=asyncio.FIRST_COMPLETED)
            return answer.result() if answer.done() else None
        finally:
            answer.cancel()
            stopping.cancel()
            await asyncio.wait({answer, stopping})
