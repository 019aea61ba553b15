"""A running replica of an app's controller: waits for work, works on several operations at once, and looks at health.

Any number of replicas share the work: the platform gives each operation to one of them, and to another when it ends.
"""

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass, field

from gpuaas_sdk.controller.app import AppController
from gpuaas_sdk.controller.context import Gate
from gpuaas_sdk.controller.line import Lease, Line
from gpuaas_sdk.controller.metrics import Metrics
from gpuaas_sdk.controller.rounds import health_round
from gpuaas_sdk.controller.runner import carry_out
from gpuaas_sdk.errors import Denied, GpuaasError, NotFound, Unauthenticated
from gpuaas_sdk.generated.models import WorkItem

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
log = logging.getLogger(__name__)


def open_gate(step: str) -> None:
    """Nothing happens between a step and the word that it is done, outside of tests."""


@dataclass
class Replica:
    app: AppController
    line: Line
    concurrency: int = 8
    gate: Gate = open_gate
    metrics: Metrics = field(default_factory=Metrics)
    _running: dict[asyncio.Task[None], Lease] = field(default_factory=dict)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _pause: float = FIRST_PAUSE

    async def run(self) -> None:
        """Until `stop`, or until the platform no longer accepts this service account."""
        for operation_id in await self.line.own():
            await self._begin(operation_id)
        rounds = asyncio.create_task(self._health_rounds())
        try:
            while not self._stopping.is_set():
                await self._take_turn()
        finally:
            rounds.cancel()

    async def stop(self, grace: float = 30.0) -> None:
        """No new work; what runs goes on to the end of its step, then back to the platform for another replica."""
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

    async def _take_turn(self) -> None:
        if len(self._running) >= self.concurrency:
            await self._unless_stopping(_first_of(set(self._running)))
            return
        try:
            found = await self._unless_stopping(self.line.work())
        except (Unauthenticated, Denied, NotFound):
            raise  # trying again would not help
        except GpuaasError as error:
            log.warning("no answer about work: %s", error)
            await self._wait_a_moment()
            return
        if found:
            await self._begin_some(found)

    async def _begin_some(self, found: "list[WorkItem]") -> None:
        free = self.concurrency - len(self._running)
        begun = [await self._begin(item.id) for item in found[:free]]
        if any(begun):
            self._pause = FIRST_PAUSE
        else:  # others were faster; what they took leaves the list in a moment
            await self._wait_a_moment()

    async def _begin(self, operation_id: str) -> bool:
        try:
            lease = await self.line.claim(operation_id)
        except GpuaasError as error:
            log.warning("%s not claimed: %s", operation_id, error)
            return False
        if lease is None:
            return False
        self.metrics.claimed(lease.claimed.operation)
        task = asyncio.create_task(self._carry_out(lease))
        self._running[task] = lease
        task.add_done_callback(lambda ended: self._running.pop(ended, None))
        return True

    async def _carry_out(self, lease: Lease) -> None:
        kind = lease.claimed.operation.kind
        log.info("%s %s of %s", kind, lease.operation_id, lease.claimed.instance.id)
        outcome = await carry_out(self.app, lease, self.gate)
        self.metrics.ended(kind, outcome)
        log.info("%s %s: %s", kind, lease.operation_id, outcome)

    async def _health_rounds(self) -> None:
        while True:
            try:
                await health_round(self.app, self.line)
            except GpuaasError as error:
                log.warning("health not told: %s", error)
            except Exception:
                log.exception("the health check failed")
            await asyncio.sleep(self.app.health_seconds)

    async def _wait_a_moment(self) -> None:
        await self._unless_stopping(asyncio.sleep(self._pause))
        self._pause = min(LONGEST_PAUSE, self._pause * 2)

    async def _unless_stopping(self, wanted: "Coroutine[object, object, object]") -> "list[WorkItem]":
        """The answer, or nothing when this replica is told to end before it comes."""
        asked, told = asyncio.ensure_future(wanted), asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({asked, told}, return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                return []
            answer = asked.result()
            return answer if isinstance(answer, list) else []
        finally:
            asked.cancel()
            told.cancel()


async def _first_of(tasks: set[asyncio.Task[None]]) -> None:
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
