# Derived from gpuaas_sdk/aio/wait.py by tools/sdk-client; change that file instead.
"""Waits for a condition, with a deadline."""

import time
from collections.abc import Callable
from typing import TypeVar

from gpuaas_sdk.errors import deadline_exceeded

Found = TypeVar("Found")
FIRST_PAUSE = 0.25
MAX_PAUSE = 3.0


def wait_for(
    predicate: Callable[[], Found | None],
    deadline: float,
    *,
    what: str = "the condition",
    pause: Callable[[float], None] = time.sleep,
) -> Found:
    """Calls the predicate until it returns something true, and returns that. `deadline` is in seconds.

    `pause` may return early, for example when an event has arrived.
    """
    ends = time.monotonic() + deadline
    length = FIRST_PAUSE
    while True:
        found = predicate()
        if found:
            return found
        left = ends - time.monotonic()
        if left <= 0:
            raise deadline_exceeded(f"{what} did not happen within {deadline:g} seconds.")
        pause(min(length, left))
        length = min(length * 1.5, MAX_PAUSE)
