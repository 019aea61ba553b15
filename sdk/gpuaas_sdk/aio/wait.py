"""Waits for a condition, with a deadline."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from gpuaas_sdk.errors import deadline_exceeded

Found = TypeVar("Found")
FIRST_PAUSE = 0.25
MAX_PAUSE = 3.0


async def wait_for(
    predicate: Callable[[], Awaitable[Found | None]],
    deadline: float,
    *,
    what: str = "the condition",
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Found:
    """Calls the predicate until it returns something true, and returns that. `deadline` is in seconds.

    `pause` may return early, for example when an event has arrived.
    """
    ends = time.monotonic() + deadline
    length = FIRST_PAUSE
    while True:
        found = await predicate()
        if found:
            return found
        left = ends - time.monotonic()
        if left <= 0:
            raise deadline_exceeded(f"{what} did not happen within {deadline:g} seconds.")
        await pause(min(length, left))
        length = min(length * 1.5, MAX_PAUSE)
