"""Reads facts about processes, and is the only module that kills one.

A process is killed through a pidfd after its membership was checked again, so that a reused pid is never killed.
"""

import os
import signal
from collections.abc import Callable
from pathlib import Path


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_time(pid: int) -> int | None:
    """Return the clock ticks after boot at which the process started; with the pid it identifies one process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command name is in parentheses and may hold spaces: count fields after the last one.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def namespace_pids(pid: int) -> list[int]:
    """Return the pids of a process in its nested PID namespaces, outermost first; empty if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    for line in status.splitlines():
        if line.startswith("NSpid:"):
            return [int(word) for word in line.split()[1:]]
    return []


def kill_if(pid: int, still_belongs: Callable[[int], bool]) -> None:
    """Kill one process if `still_belongs` is true after its identity is pinned."""
    if pid <= 1:
        return
    try:
        handle = os.pidfd_open(pid)
    except (ProcessLookupError, OSError):
        return
    try:
        if still_belongs(pid):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        pass
    finally:
        os.close(handle)
