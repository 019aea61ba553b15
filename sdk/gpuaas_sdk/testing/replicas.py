"""Replicas of a controller inside a test's own event loop, against a real server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from gpuaas_sdk.controller import AppController, ControllerSettings, Line, Replica, connect
from gpuaas_sdk.controller.context import Gate
from gpuaas_sdk.controller.replica import open_gate


@asynccontextmanager
async def running(app: AppController, settings: ControllerSettings, gate: Gate = open_gate) -> AsyncIterator[Replica]:
    """A replica at work until the block ends; then it stops in good order."""
    async with connect(settings, app) as client:
        line = Line(client, settings.project_id, settings.replica)
        replica = Replica(app, line, concurrency=settings.concurrency, gate=gate)
        work = asyncio.create_task(replica.run())
        try:
            yield replica
        finally:
            await replica.stop()
            work.cancel()
            with suppress(asyncio.CancelledError):
                await work
