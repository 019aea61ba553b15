"""Stops everything on the host but the agent, so that nobody writes between the last restore and the restart.

All other processes are killed, also those of the host itself. The first process cannot be killed and would start services
again: it is held in a trace, which it can neither refuse nor leave, whatever program it runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gpuaas_agent.commands import Deadline
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host import processes
from gpuaas_agent.host.processes import Process

_SEIZE, _INTERRUPT, _DETACH = 0x4206, 0x4207, 17
_SECONDS_TO_STOP = 20.0


@contextlib.contextmanager
def hold(deadline: Deadline) -> Iterator[None]:
    """Keep everything else stopped within the block. The first process continues after it, if the host still runs."""
    limit = deadline.at_most(_SECONDS_TO_STOP)
    # First without it: a process that traces the first one keeps others from tracing it.
    _kill_all(_others())
    trace = _Trace(1)
    try:
        trace.stop(limit)
        end_others(limit)
        yield
    finally:
        trace.release()


def end_others(deadline: Deadline) -> list[Process]:
    """Kill all processes but the first one and the agent until there are none. Returns those that were there."""
    ended: dict[str, Process] = {}
    left = _others()
    while left:
        if deadline.remaining() <= 0:
            raise _failure("processes cannot be ended: " + "; ".join(process.describe() for process in left[:5]))
        ended.update({process.instance: process for process in left})
        _kill_all(left)
        time.sleep(0.01)
        left = _others()
    return list(ended.values())


def _others() -> list[Process]:
    """Return all processes but the first one, the kernel's and the agent itself; also the agent's children."""
    apart = (1, os.getpid())
    return [one for one in processes.snapshot() if one.pid not in apart and not one.kernel and not one.ended]


def _kill_all(found: list[Process]) -> None:
    """Stop all of them before the first is killed: then none starts a child meanwhile."""
    for sign in (signal.SIGSTOP, signal.SIGKILL):
        for process in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, sign)


@dataclass
class _Trace:
    """All threads of a process, held by the kernel until this thread of the agent releases them or ends."""

    pid: int
    threads: set[int] = field(default_factory=set)

    def stop(self, deadline: Deadline) -> None:
        while running := [thread for thread in self._all() if not self._is_held(thread)]:
            for thread in running:
                self._seize(thread)
            if deadline.remaining() <= 0:
                raise _failure(f"process {self.pid} does not stop")
            time.sleep(0.002)

    def release(self) -> None:
        for thread in self.threads:
            _ptrace(_DETACH, thread)
        self.threads.clear()

    def _seize(self, thread: int) -> None:
        if thread not in self.threads:
            problem = _ptrace(_SEIZE, thread)
            if problem and os.path.exists(f"/proc/{self.pid}/task/{thread}"):
                raise _failure(f"process {self.pid} cannot be traced: {os.strerror(problem)}")
            self.threads.add(thread)
        _ptrace(_INTERRUPT, thread)

    def _all(self) -> list[int]:
        return [int(name) for name in os.listdir(f"/proc/{self.pid}/task")]

    def _is_held(self, thread: int) -> bool:
        try:
            stat = Path(f"/proc/{self.pid}/task/{thread}/stat").read_text(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return True  # it has ended
        state = stat[stat.rindex(")") + 2]
        return state in "ZX" or (state == "t" and thread in self.threads)


def _ptrace(request: int, thread: int) -> int:
    """Return 0, or the number of the error."""
    call = ctypes.CDLL(None, use_errno=True).ptrace
    call.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    call.restype = ctypes.c_long
    return 0 if call(request, thread, None, None) == 0 else ctypes.get_errno()


def _failure(message: str) -> TaskFailure:
    return TaskFailure(
        "host_not_stopped",
        f"The host could not be stopped for its restart: {message}",
        "Restart the host by its power control and retry the release. The agent must be allowed to trace process 1: "
        "the setting kernel.yama.ptrace_scope is at most 2.",
        retryable=True,
    )
