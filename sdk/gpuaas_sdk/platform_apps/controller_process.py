"""A controller as a child process. It ends with its parent, even when that one is killed."""

import asyncio
import logging
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuaas_sdk.child_process import end_with_parent

STOP_SECONDS = 8.0  # less than the time that this process's supervisor allows
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
    """Ask a child to stop, and kill it if it does not."""
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        log.warning("%s did not stop in %g s and is killed", called, STOP_SECONDS)
        process.kill()
        await process.wait()
