"""Tasks of the event loop that are told to end."""

import asyncio
from typing import Any

SAID_AGAIN_SECONDS = 1.0


async def stop(*tasks: asyncio.Future[Any]) -> None:
    """Until they have ended. To say it once is not enough: Python 3.11 forgets a cancellation where `wait_for` gets its
    result in the same moment, as who waits for a connection of the pool does, and who renews a lease would go on for ever.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=SAID_AGAIN_SECONDS)
    await asyncio.gather(*tasks, return_exceptions=True)
