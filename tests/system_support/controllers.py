"""A replica of a controller beside a test that does what its users do."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gpuaas_sdk.controller import AppController, ControllerSettings
from gpuaas_sdk.controller.context import StepHook
from gpuaas_sdk.controller.replica import no_step_hook
from gpuaas_sdk.testing import running_replica


@contextmanager
def at_work(app: AppController, settings: ControllerSettings, step_hook: StepHook = no_step_hook) -> Iterator[None]:
    """A replica in an event loop of its own, so that a test reads as what its users do, one thing after the other."""
    ready, end = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def work() -> None:
        async with running_replica(app, settings, step_hook):
            ready.set()
            await end.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(work(),))
    thread.start()
    try:
        assert ready.wait(30)
        yield
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(60)
        loop.close()
