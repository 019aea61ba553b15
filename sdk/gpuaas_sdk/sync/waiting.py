# Derived from gpuaas_sdk/aio/waiting.py by tools/sdk-client; change that file instead.
"""Wait until something is so, with a deadline."""

import time
from collections.abc import Callable
from typing import TypeVar

from gpuaas_sdk.errors import deadline_exceeded

Found = TypeVar("Found")
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 3.0


def wait_for(
    predicate: Callable[[], Found | None],
    deadline: float,
    *,
    what: str = "the condition",
    pause: Callable[[float], None] = time.sleep,
) -> Found:
    """Ask until the predicate returns something true, and hand that back; `deadline` in seconds.

    `pause` may return early, for example when an event has come.
    """
    ends = time.monotonic() + deadline
    length = FIRST_PAUSE
    while True:
        found = predicate()
        if found:
            return found
        left = ends - time.monotonic()
        if left <= 0:
            raise deadline_exceeded(f"{what} did not come about within {deadline:g} seconds.")
        pause(min(length, left))
        length = min(length * 1.5, LONGEST_PAUSE)
