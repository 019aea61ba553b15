"""A controller as a child process. It ends with its parent, even when that one is killed."""

import asyncio
import logging
import os
import signal
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gpuaas_sdk.child_process import end_with_parent

STOP_SECONDS, KILL_SECONDS = 8.0, 1.0  # together less than the time that this process's supervisor allows
_PAUSE = 0.05
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ControllerProcess:
    name: str
    command: Sequence[str]
    environment: Mapping[str, str]

    async def run(self) -> int:
        """Run it once and return how it ended. When this is cancelled it is asked to stop, and killed if it does not."""
        process = await asyncio.create_subprocess_exec(
            *self.command, env=dict(self.environment), stdin=DEVNULL, preexec_fn=end_with_parent(own_group=True)
        )
        log.info("Controller of %s started: process %d", self.name, process.pid)
        try:
            return await process.wait()
        finally:
            await stop(process, f"Controller of {self.name}")


async def stop(process: Process, called: str) -> None:
    """Ask a child and its own children to stop, and kill those that do not, also when the child itself has ended already.
    The child must lead a process group.
    """
    _signal_group(process, signal.SIGTERM)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await _wait_for_group(process)
                return
        log.warning("%s did not stop in %g s and is killed", called, STOP_SECONDS)
    finally:
        _signal_group(process, signal.SIGKILL)
    with suppress(TimeoutError):
        async with asyncio.timeout(KILL_SECONDS):
            await _wait_for_group(process)


def _signal_group(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


async def _wait_for_group(process: Process) -> None:
    await process.wait()
    while _is_group_running(process.pid):
        await asyncio.sleep(_PAUSE)


def _is_group_running(group: int) -> bool:
    """Tell whether a process of the group runs. One that has ended and that nobody waits for does not."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, found = file.read_text(errors="replace").rpartition(")")[2].split()[:3]
            if int(found) == group and state not in "ZX":
                return True
    return False
