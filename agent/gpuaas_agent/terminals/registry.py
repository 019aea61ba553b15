"""Runs all terminals of this host on one event loop in a separate thread, so that they never delay a task or a poll."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

from gpuaas_agent import durable, log, wire
from gpuaas_agent.commands import Deadline
from gpuaas_agent.drivers.seam import SshTarget
from gpuaas_agent.failures import DeadlineExceeded, TaskFailure
from gpuaas_agent.specs import TerminalSpec
from gpuaas_agent.terminals.session import Session

MOST_SESSIONS = 64
_HANG_UP_SECONDS = 5.0
Result = TypeVar("Result")


class TerminalRegistry:
    def __init__(self, state_dir: Path, requests: Callable[[str], list[wire.StreamRequest]]) -> None:
        self._folder = state_dir / "terminals"
        self._stream_requests = requests
        self._loop = asyncio.new_event_loop()
        self._sessions: dict[asyncio.Task[None], Session] = {}
        self._thread = threading.Thread(target=self._loop.run_forever, name="terminals", daemon=True)
        self._started = threading.Lock()

    def open(self, spec: TerminalSpec, ssh_target: SshTarget, deadline: Deadline) -> None:
        """Open a terminal. Returns when its shell has answered; the terminal then runs in the background."""
        try:
            self._run(self._open(spec, ssh_target)).result(deadline.require("opening a terminal"))
        except TimeoutError as problem:
            self.hang_up_terminal(spec.terminal_id)
            raise DeadlineExceeded("opening a terminal") from problem

    def hang_up(self, allocation_id: str) -> int:
        """Close the terminals of an allocation before its release. Returns their number."""
        if not self._thread.is_alive():
            return 0
        return self._run(self._end(lambda spec: spec.allocation_id == allocation_id)).result(_HANG_UP_SECONDS)

    def hang_up_terminal(self, terminal_id: str) -> int:
        return self._run(self._end(lambda spec: spec.terminal_id == terminal_id)).result(_HANG_UP_SECONDS)

    def _run(self, coroutine: Coroutine[object, object, Result]) -> Future[Result]:
        with self._started:
            if not self._thread.is_alive():
                durable.make_private_folder(self._folder)
                self._thread.start()
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    async def _open(self, spec: TerminalSpec, ssh_target: SshTarget) -> None:
        if len(self._sessions) >= MOST_SESSIONS:
            raise TaskFailure(
                "too_many_terminals", f"This host has {len(self._sessions)} open terminals", "Close some of them first."
            )
        session = Session(spec, ssh_target, self._folder)
        requests = self._stream_requests(f"/terminals/{spec.terminal_id}/stream")
        task = asyncio.create_task(session.run(requests), name=spec.terminal_id)
        self._sessions[task] = session
        task.add_done_callback(self._ended)
        await asyncio.shield(session.opened)

    def _ended(self, task: asyncio.Task[None]) -> None:
        session = self._sessions.pop(task)
        problem = None if task.cancelled() else task.exception()
        if problem is not None:
            log.error("terminal_crashed", kind=type(problem).__name__, message=str(problem)[:300])
        if session.opened.done() and not session.opened.cancelled():
            session.opened.exception()  # retrieve it: the caller may no longer wait

    async def _end(self, wanted: Callable[[TerminalSpec], bool]) -> int:
        doomed = [task for task, session in self._sessions.items() if wanted(session.spec)]
        for task in doomed:
            task.cancel()
        await asyncio.gather(*doomed, return_exceptions=True)
        return len(doomed)
