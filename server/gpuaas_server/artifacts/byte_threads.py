"""Threads that read, write and hash the bytes of artifacts: a few of their own, of low priority.

Hashing 5 GiB takes seconds of a processor. In the default threads it would stand in line before sign-ins; at ordinary
priority it would take the processor from whoever waits for an answer.
"""

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar, TypeVarTuple

THREADS = 4
NICENESS = 10

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")


def _lower_priority() -> None:
    with suppress(OSError):  # of this thread alone, as Linux has it
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


_threads = ThreadPoolExecutor(THREADS, "artifact-bytes", _lower_priority)


async def run_in_thread(function: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
    return await asyncio.get_running_loop().run_in_executor(_threads, function, *arguments)
