"""What a replica says to the platform: it finds work, claims it, and speaks for as long as it holds the lease."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from gpuaas_sdk.access import MachineAccess
from gpuaas_sdk.aio import AsyncClient
from gpuaas_sdk.artifacts import RuntimeSecret
from gpuaas_sdk.client import Client
from gpuaas_sdk.controller.failures import Failure, LeaseLost
from gpuaas_sdk.errors import Conflict, GpuaasError, NotFound
from gpuaas_sdk.operations import ClaimedOperation, Document, LeaseRenewed, Operation, WorkItem

POLL_SECONDS = 30
RENEWALS_PER_LEASE = 3
Answer = TypeVar("Answer")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Line:
    client: AsyncClient
    project_id: str
    replica: str

    async def work(self) -> Sequence[WorkItem]:
        """Held by the server until there is some, so that nothing waits for an interval of ours."""
        project = self.project_id
        return await self.client.ask(lambda c: c.controller.poll(project, wait=POLL_SECONDS))

    async def claim(self, operation_id: str) -> "Lease | None":
        """None: another replica was faster, or it is over."""
        project, replica = self.project_id, self.replica
        try:
            claimed = await self.client.ask(lambda c: c.controller.claim(project, operation_id, replica))
        except (Conflict, NotFound):
            return None
        return Lease(self, claimed)

    async def own(self) -> list[str]:
        """What a replica of this name had claimed before it ended: its own to go on with, without waiting."""
        claimed, running = await self._with_status("claimed"), await self._with_status("running")
        return [one.id for one in (*claimed, *running) if one.replica == self.replica and one.phase is None]

    async def _with_status(self, status: str) -> list[Operation]:
        project = self.project_id
        return await self.client.ask(lambda c: list(c.operations.list(project, status=status)))


@dataclass(slots=True)
class Lease:
    """The right to work on one operation. Every word proves it, and renews it."""

    line: Line
    claimed: ClaimedOperation
    cancel_requested: bool = False
    interrupted: bool = False  # this replica is to end: stop between two steps
    _said: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def operation_id(self) -> str:
        return self.claimed.operation.id

    async def report(self, steps: Sequence[Document] = (), progress: Document | None = None) -> LeaseRenewed:
        project, operation, token = self._place
        async with self._said:  # one after the other: a step's end must not overtake its beginning
            told = await self._ask(
                lambda c: c.controller.report(project, operation, token, steps=steps, progress=progress)
            )
        self.cancel_requested = told.cancel_requested
        return told

    async def complete(self, members: Sequence[Document], runtime: Document | None, access: Document | None) -> None:
        project, operation, token = self._place
        await self._ask(
            lambda c: c.controller.complete(
                project, operation, token, members=members, runtime=runtime, access_bundle=access
            )
        )

    async def fail(self, failure: Failure, members: Sequence[Document]) -> None:
        project, operation, token = self._place
        said = failure.document()
        await self._ask(lambda c: c.controller.fail(project, operation, token, said, members=members))

    async def give_back(self) -> None:
        project, operation, token = self._place
        await self._ask(lambda c: c.controller.give_back(project, operation, token))

    async def machine_access(self, public_key: str) -> MachineAccess:
        project, operation, token = self._place
        return await self._ask(lambda c: c.ssh_access.for_operation(project, operation, token, public_key))

    async def pull_secret(self, recipient_key: str) -> RuntimeSecret:
        project, operation, token = self._place
        return await self._ask(lambda c: c.artifacts.pull_secret(project, operation, token, recipient_key))

    async def keep(self) -> None:
        """Renew until cancelled. Ends by itself only when the lease is lost."""
        until = self.claimed.lease_until
        while True:
            left = 60.0 if until is None else (until - datetime.now(UTC)).total_seconds()
            await asyncio.sleep(max(1.0, left / RENEWALS_PER_LEASE))
            try:
                until = (await self.report()).lease_until
            except LeaseLost:
                return
            except GpuaasError as error:  # the next try is soon, and the lease has more than one try in it
                log.warning("lease of %s not renewed: %s", self.operation_id, error)

    @property
    def _place(self) -> tuple[str, str, str]:
        return self.line.project_id, self.operation_id, self.claimed.lease_token

    async def _ask(self, call: Callable[[Client], Answer]) -> Answer:
        try:
            return await self.line.client.ask(call)
        except GpuaasError as error:
            if error.code in ("lease_lost", "not_the_controller"):
                raise LeaseLost(error.detail) from error
            raise
