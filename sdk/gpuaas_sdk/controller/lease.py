"""The lease on one operation: a replica reports, renews and ends the operation through it."""

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from gpuaas_sdk.aio import AsyncClient
from gpuaas_sdk.controller.counters import POSITION
from gpuaas_sdk.controller.failures import Failure, LeaseLost, one_line
from gpuaas_sdk.errors import GpuaasError
from gpuaas_sdk.generated.models import ClaimedOperation, LeaseRenewed, MachineAccess, OperationSecrets, RuntimeSecret
from gpuaas_sdk.wire import Document

RENEWALS_PER_LEASE = 3
FLUSH_SECONDS = 0.25  # how long the end of a step waits for another report that can carry it
Answer = TypeVar("Answer")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RuntimeChange:
    """A runtime to keep now, if the platform still has the one that it was made from."""

    runtime: Document
    expected: Document


@dataclass(slots=True)
class Lease:
    """The right to work on one operation. Every call proves it with the lease token, and every report renews it.

    Close it when the work has ended: it may have a task that still waits to send the last steps.
    """

    api: AsyncClient
    project_id: str
    claimed: ClaimedOperation
    cancel_requested: bool = False
    interrupted: bool = False  # this replica shuts down: stop between two steps
    mode: Document | None = None  # the mode of the instance, sent when the operation completes
    _report_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _pending_steps: list[Document] = field(default_factory=list)
    _flush_task: asyncio.Task[None] | None = None

    @property
    def operation_id(self) -> str:
        return self.claimed.operation.id

    @property
    def title(self) -> str:
        """Return what the log calls the operation: its kind, its id and the name of its instance."""
        return f"{self.claimed.operation.kind} {self.operation_id} of {one_line(self.claimed.instance.name)}"

    async def report(
        self,
        steps: Sequence[Document] = (),
        progress: Document | None = None,
        runtime: RuntimeChange | None = None,
    ) -> LeaseRenewed:
        """Send these steps now, after all steps that are pending."""
        async with self._report_lock:  # one report at a time: the end of a step must not overtake its start
            pending = self._take_pending_steps()
            try:
                renewed = await self.send_report([*pending, *steps], progress, runtime)
            except BaseException:
                self._pending_steps = [*pending, *self._pending_steps]
                raise
        self.cancel_requested = renewed.cancel_requested
        return renewed

    def queue_step(self, step: Document) -> None:
        """Send the end of a step with the next report, usually the start of the next step, or alone after a moment."""
        self._pending_steps.append(step)
        if self._flush_task is None or self._flush_task.done():
            self._flush_task = asyncio.create_task(self._flush_later())

    async def flush_steps(self) -> None:
        if self._pending_steps:
            await self.report()

    async def send_report(
        self, steps: Sequence[Document], progress: Document | None, runtime: RuntimeChange | None = None
    ) -> LeaseRenewed:
        changed, expected = (None, None) if runtime is None else (runtime.runtime, runtime.expected)
        send = self.api.controller.report
        return await self._checked(
            send(*self._identity, steps=steps, progress=progress, runtime=changed, expected_runtime=expected)
        )

    async def complete(self, members: Sequence[Document], runtime: Document | None, access: Document | None) -> None:
        # Others move the position of the usage counters meanwhile. It changes by comparison only (`usage.record_counters`).
        kept = None if runtime is None or POSITION in runtime else [POSITION]
        async with self._report_lock:
            complete = self.api.controller.complete
            await self._checked(
                complete(
                    *self._identity,
                    members=members,
                    steps=self._pending_steps,
                    runtime=runtime,
                    runtime_kept=kept,
                    access_bundle=access,
                    mode=self.mode,
                )
            )
            self._take_pending_steps()

    async def fail(self, failure: Failure, members: Sequence[Document] = (), *, with_steps: bool = True) -> None:
        """Report the failure. Without steps, those that are pending are dropped: the platform may have refused them."""
        async with self._report_lock:
            steps, fail = self._pending_steps if with_steps else [], self.api.controller.fail
            await self._checked(fail(*self._identity, failure.document(), members=members, steps=steps))
            self._take_pending_steps()

    async def give_back(self) -> None:
        """Return the operation to the platform, so that another replica can claim it immediately."""
        await self.flush_steps()
        await self._checked(self.api.controller.give_back(*self._identity))

    async def close(self) -> None:
        """End the task that would still send pending steps. Steps that were not sent by now are dropped."""
        if self._flush_task is not None:
            self._flush_task.cancel()
            await asyncio.wait({self._flush_task})
            self._flush_task = None

    async def request_machine_access(self, public_key: str) -> MachineAccess:
        return await self._checked(self.api.ssh_access.for_operation(*self._identity, public_key))

    async def request_pull_secret(self, recipient_key: str, digest: str | None = None) -> RuntimeSecret:
        return await self._checked(self.api.artifacts.pull_secret(*self._identity, recipient_key, digest=digest))

    async def request_secrets(self, recipient_key: str) -> OperationSecrets:
        return await self._checked(self.api.operations.read_secrets(*self._identity, recipient_key))

    async def renew_until_lost(self) -> None:
        """Renew the lease until this task is cancelled. It returns only when the lease is lost."""
        until = self.claimed.lease_until
        while True:
            left = 60.0 if until is None else (until - datetime.now(UTC)).total_seconds()
            await asyncio.sleep(max(1.0, left / RENEWALS_PER_LEASE))
            try:
                until = (await self.report()).lease_until
            except LeaseLost:
                return
            except GpuaasError as error:  # the lease outlasts more than one failed renewal
                log.warning("The lease of %s was not renewed: %s", self.operation_id, error)

    async def _flush_later(self) -> None:
        await asyncio.sleep(FLUSH_SECONDS)
        try:
            await self.flush_steps()
        except (GpuaasError, LeaseLost) as error:  # the steps stay pending; the next report sends them
            log.warning("Steps of %s were not reported: %s", self.operation_id, error)

    def _take_pending_steps(self) -> list[Document]:
        pending, self._pending_steps = self._pending_steps, []
        return pending

    @property
    def _identity(self) -> tuple[str, str, str]:
        return self.project_id, self.operation_id, self.claimed.lease_token

    async def _checked(self, call: Awaitable[Answer]) -> Answer:
        """Raises LeaseLost when the platform refuses the call because this replica no longer has the lease.

        `not_found`: the tenant has withdrawn its consent, and shows nothing any more.
        """
        try:
            return await call
        except GpuaasError as error:
            if error.code in ("lease_lost", "not_the_controller", "not_found"):
                raise LeaseLost(error.detail) from error
            raise
