"""The preparation of an app: a command that makes what is missing, such as an image, with less priority than the platform."""

import asyncio
import logging
import os
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from gpuaas_sdk.child_process import end_with_parent
from gpuaas_sdk.platform_apps.controller_process import stop
from gpuaas_sdk.platform_apps.declaration import AppNotReady

PREPARE_SECONDS = 3600.0
_NICENESS = 15
_LINE_BYTES = 2**20
log = logging.getLogger(__name__)
Progress = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Preparation:
    name: str
    command: Sequence[str]

    async def run(self, progress: Progress) -> None:
        """Run the command to its end and pass on each line. Raises AppNotReady with its last line if it fails."""
        bind = end_with_parent(own_group=True)

        def bind_politely() -> None:
            bind()
            os.nice(_NICENESS)

        process = await asyncio.create_subprocess_exec(
            *self.command, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, limit=_LINE_BYTES, preexec_fn=bind_politely
        )
        log.info("Preparation of %s started: process %d", self.name, process.pid)
        try:
            async with asyncio.timeout(PREPARE_SECONDS):
                last = await self._follow(process, progress)
                code = await process.wait()
        except TimeoutError:
            raise AppNotReady(f"The app's preparation did not end in {PREPARE_SECONDS:g} s.") from None
        except ValueError as error:  # a line without an end
            raise AppNotReady("The app's preparation printed something that is not a line of text.") from error
        finally:
            await stop(process, f"Preparation of {self.name}")
        if code != 0:
            raise AppNotReady(last or f"The app's preparation ended with {code}.")

    async def _follow(self, process: Process, progress: Progress) -> str:
        last = ""
        if process.stdout is not None:
            async for content in process.stdout:
                line = content.decode(errors="replace").strip()
                if line:
                    last = line
                    log.info("%s: %s", self.name, line)
                    await progress(line)
        return last
