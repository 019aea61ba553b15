"""Runs a controller replica inside a test's own event loop, against a real server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from gpuaas_sdk.controller import AppController, ControllerClient, ControllerSettings, Replica, connect
from gpuaas_sdk.controller.context import StepHook
from gpuaas_sdk.controller.replica import no_step_hook


@asynccontextmanager
async def running_replica(
    app: AppController, settings: ControllerSettings, step_hook: StepHook = no_step_hook
) -> AsyncIterator[Replica]:
    """Runs a replica until the block ends; then stops it gracefully."""
    async with connect(settings, app) as api:
        client = ControllerClient(api, settings.project_id, settings.replica)
        replica = Replica(app, client, concurrency=settings.concurrency, step_hook=step_hook)
        work = asyncio.create_task(replica.run())
        try:
            yield replica
        finally:
            await replica.stop()
            work.cancel()
            with suppress(asyncio.CancelledError):
                await work
