"""Ends tasks of the event loop."""

import asyncio
from typing import Any

SAID_AGAIN_SECONDS = 1.0


async def stop(*tasks: asyncio.Future[Any]) -> None:
    """Cancel the tasks until they have ended. Once is not enough: Python 3.11 loses a cancellation when `wait_for` gets its
    result in the same moment, as in a wait for a connection of the pool; a task that renews a lease would then go on for ever.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=SAID_AGAIN_SECONDS)
    await asyncio.gather(*tasks, return_exceptions=True)
