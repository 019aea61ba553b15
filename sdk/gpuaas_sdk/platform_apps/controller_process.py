"""A controller as a child process. It ends with its parent, even when that one is killed."""

import asyncio
import ctypes
import logging
import os
import signal
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_PR_SET_PDEATHSIG = 1
STOP_SECONDS = 8.0  # less than who supervises this process gives it
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ControllerProcess:
    name: str
    command: Sequence[str]
    environment: Mapping[str, str]

    async def run(self) -> int:
        """Run it once and return how it ended. When this is cancelled it is asked to stop, and killed if it does not."""
        process = await asyncio.create_subprocess_exec(
            *self.command, env=dict(self.environment), stdin=DEVNULL, preexec_fn=_ending_with_parent()
        )
        log.info("Controller of %s started: process %d", self.name, process.pid)
        try:
            return await process.wait()
        finally:
            await self._stop(process)

    async def _stop(self, process: Process) -> None:
        if process.returncode is not None:
            return
        process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            log.warning("Controller of %s did not stop in %g s and is killed", self.name, STOP_SECONDS)
            process.kill()
            await process.wait()


def _ending_with_parent() -> Callable[[], None]:
    libc, parent = ctypes.CDLL(None), os.getpid()

    def bind() -> None:
        os.setpgid(0, 0)  # the terminal's Ctrl-C reaches the supervisor alone, which stops the rest in order
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return bind
