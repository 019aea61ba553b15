"""The worker loop: take leases, load, decide, act outside any transaction, apply under the fencing token.

A machine is pure in `decide`; everything that touches the world is in `act`, everything that is stored is in `apply`.
"""

import asyncio
import logging
import os
import random
import socket
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar

from psycopg import OperationalError
from psycopg.errors import DeadlockDetected

from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Platform, Tx, system_actor
from gpuaas_server.kernel.database import PLATFORM, Connection
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.logs import correlation_id
from gpuaas_server.work import leases
from gpuaas_server.work.leases import Lease, LeaseLost

log = logging.getLogger(__name__)

Snapshot = TypeVar("Snapshot")
Decision = TypeVar("Decision")

AWAY = (OperationalError, Problem)  # the database, or a free connection to it
IDLE_LOOK = 30.0  # a wake-up may be lost with a killed process; look anyway


class Machine(Protocol, Generic[Snapshot, Decision]):
    """What a noun's machine.py offers to the worker."""

    kind: str

    async def load(self, connection: Connection, subject: str) -> Snapshot | None: ...
    def decide(self, snapshot: Snapshot, now: datetime) -> Decision: ...
    async def act(self, platform: Platform, snapshot: Snapshot, decision: Decision) -> Decision: ...
    async def apply(self, tx: Tx, snapshot: Snapshot, decision: Decision) -> datetime | None: ...


class Worker:
    def __init__(self, platform: Platform, machines: list[Machine[Any, Any]]) -> None:
        self._platform = platform
        self._machines = {machine.kind: machine for machine in machines}
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{random.randbytes(3).hex()}"
        self._running: set[asyncio.Task[None]] = set()
        self._stopping = False

    async def run(self) -> None:
        """Until cancelled. Waits for a wake-up, the next due time, or a free hand; never spins."""
        settings = self._platform.settings
        async with self._platform.wakeups.waiting(leases.TOPIC) as woken:
            while not self._stopping:
                woken.clear()
                try:
                    wait = await self._round(settings.work_concurrency - len(self._running))
                except AWAY as error:
                    log.warning("database away, trying again", extra={"error": str(error)})
                    wait = 0.5
                await self._rest(woken, wait)

    async def stop(self) -> None:
        """Take nothing new, let what runs end."""
        self._stopping = True
        if self._running:
            await asyncio.wait(self._running, timeout=10)

    async def _round(self, free: int) -> float:
        """Lease what is due and start it; the answer is how long there is nothing to do."""
        if free <= 0:
            return IDLE_LOOK
        kinds = list(self._machines)
        async with self._platform.database.connection(PLATFORM) as connection:
            now = self._platform.clock()
            seconds = self._platform.settings.work_lease_seconds
            taken = await leases.take(connection, kinds, self._owner, now, seconds, free)
            due = None if taken else await leases.next_due(connection, kinds)
        for lease in taken:
            metrics.work_lag.labels(lease.kind).observe(max(0.0, (now - lease.due_at).total_seconds()))
            task = asyncio.create_task(self._handle(lease))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        if len(taken) == free:
            return 0.0
        return IDLE_LOOK if due is None else min(IDLE_LOOK, max(0.001, (due - now).total_seconds()))

    async def _rest(self, woken: asyncio.Event, seconds: float) -> None:
        if len(self._running) >= self._platform.settings.work_concurrency:
            await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(woken.wait(), max(seconds, 0.001))

    async def _handle(self, lease: Lease) -> None:
        correlation_id.set(lease.correlation_id)
        heartbeat = asyncio.create_task(self._heartbeat(lease))
        try:
            await self._advance(lease)
            metrics.work_done.labels(lease.kind, "ok").inc()
        except LeaseLost:
            metrics.work_done.labels(lease.kind, "lease_lost").inc()
            log.warning("lease lost, result dropped", extra={"kind": lease.kind, "subject": lease.subject})
        except Exception as error:
            metrics.work_done.labels(lease.kind, "error").inc()
            log.exception("work failed, will retry", extra={"kind": lease.kind, "subject": lease.subject})
            await self._fail(lease, error)
        finally:
            heartbeat.cancel()

    async def _advance(self, lease: Lease) -> None:
        machine = self._machines[lease.kind]
        async with self._platform.database.connection(PLATFORM) as connection:
            snapshot = await machine.load(connection, lease.subject)
        decision = None
        if snapshot is not None:
            decision = machine.decide(snapshot, self._platform.clock())
            decision = await machine.act(self._platform, snapshot, decision)
        actor = system_actor(f"worker/{lease.kind}", lease.correlation_id)
        async with self._platform.transaction(PLATFORM, actor) as tx:
            await leases.guard(tx, lease)
            again_at = None
            if snapshot is not None:
                again_at = await machine.apply(tx, snapshot, decision)
            await leases.finish(tx, lease, again_at)
            tx.wakeups.add(leases.TOPIC)

    async def _heartbeat(self, lease: Lease) -> None:
        """Until cancelled, or until the lease is not ours any more, which the apply finds out by itself."""
        seconds = self._platform.settings.work_lease_seconds
        while True:
            await asyncio.sleep(seconds / 3)
            with suppress(*AWAY):
                async with self._platform.database.connection(PLATFORM) as connection:
                    until = self._platform.clock() + timedelta(seconds=seconds)
                    try:
                        await leases.renew(connection, lease, until)
                    except LeaseLost:
                        return

    async def _fail(self, lease: Lease, error: Exception) -> None:
        pause = min(60.0, 0.2 * 2 ** min(lease.attempts, 10)) * random.uniform(0.8, 1.2)
        if isinstance(error, DeadlockDetected):
            pause = 0.02  # nothing is wrong with the work; somebody else was quicker
        with suppress(*AWAY):  # the lease lapses by itself when the database is away
            async with self._platform.database.connection(PLATFORM) as connection:
                again_at = self._platform.clock() + timedelta(seconds=pause)
                await leases.fail(connection, lease, f"{type(error).__name__}: {error}", again_at)
            self._platform.wakeups.wake(leases.TOPIC)  # the loop may be resting until the lease would have lapsed
