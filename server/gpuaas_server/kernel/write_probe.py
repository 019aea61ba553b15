"""A periodic check that the database can still write: reads go on when the disk is full, or after a wrong fail-over.

The process does it by itself and not for a request: callers of `/readyz` cause no write.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any

from psycopg import AsyncConnection, Error

from gpuaas_server.kernel.database_health import NO_ANSWER, DatabaseHealth, describe_failure
from gpuaas_server.kernel.errors import Problem

PROBE_SECONDS = 10.0
AGAIN_SECONDS = 1.0  # while it fails
ANSWER_SECONDS = 3.0
CONDITION = "write"
# One statement that needs a file, a new page in it, rows in the catalogue and a flushed log: whichever of these has no
# room, or is not allowed here, says so. Nothing of it is left after its commit.
_PROBE = (
    "CREATE TEMP TABLE gpuaas_write_probe ON COMMIT DROP AS SELECT repeat('x', 4000) AS x FROM generate_series(1, 2)"
)
_NOT_ALLOWED = "42501"  # a role without TEMP on its database: nothing is known, so nothing is said

Borrow = Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]


class WriteProbe:
    def __init__(self, health: DatabaseHealth, borrow: Borrow) -> None:
        self._health = health
        self._borrow = borrow
        self._suspected = asyncio.Event()

    def suspect(self) -> None:
        """Check now, since a write has failed."""
        self._suspected.set()

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            self._suspected.clear()
            probing = asyncio.create_task(self._probe())
            try:
                await self._settle(probing)
            finally:
                probing.cancel()
            await asyncio.sleep(AGAIN_SECONDS)
            if not self._health.cause:
                with suppress(TimeoutError):
                    async with asyncio.timeout(PROBE_SECONDS):
                        await self._suspected.wait()

    async def _settle(self, probing: "asyncio.Task[str | None]") -> None:
        """Wait for a late check. It is never cancelled: the cancellation would wait for the same answer."""
        done, _ = await asyncio.wait({probing}, timeout=ANSWER_SECONDS)
        if not done:
            self._health.begin(CONDITION, NO_ANSWER)
        cause = await probing
        if cause:
            self._health.begin(CONDITION, cause)
        elif cause is not None:
            self._health.end(CONDITION)

    async def _probe(self) -> str | None:
        """Return the cause of a failed write, empty when it succeeded, None when the check found nothing out."""
        try:
            async with self._borrow() as connection:
                await connection.execute(_PROBE, prepare=False)
        except Problem:
            return None  # no connection to be had now: nothing is known of writing
        except Error as error:
            if error.sqlstate is None:
                return None  # the connection is lost; whoever connects again finds out
            return "" if error.sqlstate == _NOT_ALLOWED else describe_failure(error)
        return ""
