"""The recurring write outlives whatever keeps it from a connection."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from psycopg import AsyncConnection

from gpuaas_server.kernel import write_probe
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import NOBODY
from gpuaas_server.kernel.database_health import DatabaseHealth
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.write_probe import WriteProbe

HANG = 60.0


async def test_a_probe_that_gets_no_connection_says_nothing_and_looks_again(
    platform: Platform, monkeypatch: Any
) -> None:
    monkeypatch.setattr(write_probe, "AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(write_probe, "PROBE_SECONDS", 0.01)
    health, refused, written = DatabaseHealth(), 0, asyncio.Event()

    @asynccontextmanager
    async def borrow() -> AsyncIterator[AsyncConnection[Any]]:
        nonlocal refused
        if refused < 3:
            refused += 1
            raise Problem("unavailable", "All database connections are busy.")
        async with platform.database.connection(NOBODY) as connection:
            yield connection
        written.set()

    running = asyncio.create_task(WriteProbe(health, borrow).run())
    try:
        await asyncio.wait_for(written.wait(), HANG)
        assert (refused, health.cause) == (3, "")
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
