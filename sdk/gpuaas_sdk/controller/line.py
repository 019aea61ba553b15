"""What a replica says to the platform: it finds work, claims it, and speaks for as long as it holds the lease."""

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from gpuaas_sdk.aio import AsyncClient
from gpuaas_sdk.controller.failures import Failure, LeaseLost
from gpuaas_sdk.errors import Conflict, GpuaasError, NotFound
from gpuaas_sdk.generated.models import (
    ClaimedOperation,
    LeaseRenewed,
    MachineAccess,
    Operation,
    RuntimeSecret,
    WorkItem,
)
from gpuaas_sdk.wire import Document

POLL_SECONDS = 30
RENEWALS_PER_LEASE = 3
UNSAID_SECONDS = 0.25  # how long the end of a step waits for another word to go with
Answer = TypeVar("Answer")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Line:
    client: AsyncClient
    project_id: str
    replica: str

    async def work(self) -> Sequence[WorkItem]:
        """Held by the server until there is some, so that nothing waits for an interval of ours."""
        return await self.client.controller.poll(self.project_id, wait=POLL_SECONDS)

    async def claim(self, operation_id: str) -> "Lease | None":
        """None: another replica was faster, or it is over."""
        try:
            claimed = await self.client.controller.claim(self.project_id, operation_id, self.replica)
        except (Conflict, NotFound):
            return None
        return Lease(self, claimed)

    async def own(self) -> list[str]:
        """What a replica of this name had claimed before it ended: its own to go on with, without waiting."""
        claimed, running = await self._with_status("claimed"), await self._with_status("running")
        return [one.id for one in (*claimed, *running) if one.replica == self.replica and one.phase is None]

    async def _with_status(self, status: str) -> list[Operation]:
        return await self.client.operations.list(self.project_id, status=status).all()


@dataclass(slots=True)
class Lease:
    """The right to work on one operation. Every word proves it, and renews it."""

    line: Line
    claimed: ClaimedOperation
    cancel_requested: bool = False
    interrupted: bool = False  # this replica is to end: stop between two steps
    mode: Document | None = None  # the form that the instance has now, for the word at the end
    _said: asyncio.Lock = field(default_factory=asyncio.Lock)
    _unsaid: list[Document] = field(default_factory=list)
    _later: asyncio.Task[None] | None = None

    @property
    def operation_id(self) -> str:
        return self.claimed.operation.id

    async def tell(self, steps: Sequence[Document] = (), progress: Document | None = None) -> LeaseRenewed:
        """Now, and with it what is still unsaid."""
        async with self._said:  # one after the other: a step's end must not overtake its beginning
            unsaid = self._taken()
            try:
                told = await self.report([*unsaid, *steps], progress)
            except BaseException:
                self._unsaid = [*unsaid, *self._unsaid]
                raise
        self.cancel_requested = told.cancel_requested
        return told

    def note(self, step: Document) -> None:
        """The end of a step goes with whatever is said next, most often the next one's beginning; by itself in a moment."""
        self._unsaid.append(step)
        if self._later is None or self._later.done():
            self._later = asyncio.create_task(self._tell_unsaid())

    async def report(self, steps: Sequence[Document], progress: Document | None) -> LeaseRenewed:
        return await self._held(self._calls.controller.report(*self._place, steps=steps, progress=progress))

    async def complete(self, members: Sequence[Document], runtime: Document | None, access: Document | None) -> None:
        async with self._said:
            steps, complete = self._taken(), self._calls.controller.complete
            await self._held(
                complete(
                    *self._place,
                    members=members,
                    steps=steps,
                    runtime=runtime,
                    access_bundle=access,
                    mode=self.mode,
                )
            )

    async def fail(self, failure: Failure, members: Sequence[Document]) -> None:
        async with self._said:
            steps, calls = self._taken(), self._calls.controller
            await self._held(calls.fail(*self._place, failure.document(), members=members, steps=steps))

    async def give_back(self) -> None:
        if self._unsaid:
            await self.tell()
        await self._held(self._calls.controller.give_back(*self._place))

    async def machine_access(self, public_key: str) -> MachineAccess:
        return await self._held(self._calls.ssh_access.for_operation(*self._place, public_key))

    async def pull_secret(self, recipient_key: str) -> RuntimeSecret:
        return await self._held(self._calls.artifacts.pull_secret(*self._place, recipient_key))

    async def keep(self) -> None:
        """Renew until cancelled. Ends by itself only when the lease is lost."""
        until = self.claimed.lease_until
        while True:
            left = 60.0 if until is None else (until - datetime.now(UTC)).total_seconds()
            await asyncio.sleep(max(1.0, left / RENEWALS_PER_LEASE))
            try:
                until = (await self.tell()).lease_until
            except LeaseLost:
                return
            except GpuaasError as error:  # the next try is soon, and the lease has more than one try in it
                log.warning("lease of %s not renewed: %s", self.operation_id, error)

    async def _tell_unsaid(self) -> None:
        await asyncio.sleep(UNSAID_SECONDS)
        if not self._unsaid:
            return
        try:
            await self.tell()
        except (GpuaasError, LeaseLost) as error:  # it stays unsaid, and whoever speaks next hears of it
            log.warning("steps of %s not told: %s", self.operation_id, error)

    def _taken(self) -> list[Document]:
        unsaid, self._unsaid = self._unsaid, []
        return unsaid

    @property
    def _calls(self) -> AsyncClient:
        return self.line.client

    @property
    def _place(self) -> tuple[str, str, str]:
        return self.line.project_id, self.operation_id, self.claimed.lease_token

    async def _held(self, call: Awaitable[Answer]) -> Answer:
        try:
            return await call
        except GpuaasError as error:
            if error.code in ("lease_lost", "not_the_controller"):
                raise LeaseLost(error.detail) from error
            raise
