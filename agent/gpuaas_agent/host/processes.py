"""Lists and ends processes of the host, in particular those that did not exist before the tenant came.

A process is foreign unless it was in the baseline, belongs to the kernel, or is the agent or a program that it runs now.
What started the agent is not the agent: whoever was root can have put themselves in between.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpuaas_agent import commands
from gpuaas_agent.commands import Deadline
from gpuaas_agent.host import cgroups
from gpuaas_agent.printable import printable

_KERNEL_THREAD = 0x00200000
# sshd's title contains the number of logins in progress; right after a reload sshd has no title yet.
_SSHD_TITLE = re.compile(r"^sshd: (.+) \[listener\] \d+ of \d+-\d+ startups$")


@dataclass(frozen=True)
class Process:
    pid: int
    started: int
    parent: int
    kernel: bool
    uid: int
    executable: str
    command: str
    group: str
    name: str = ""  # as the kernel stores it, truncated to fifteen characters
    ended: bool = False  # it has ended, and its parent has not noticed yet

    @property
    def instance(self) -> str:
        """Identifies this very process; a pid alone may be reused."""
        return f"{self.pid}@{self.started}"

    @property
    def likeness(self) -> str:
        """Identifies the kind of process: it is the same after a restart of a service."""
        command = _SSHD_TITLE.sub(r"\1", self.command)
        return f"{self.uid}|{self.group}|{self.executable}|{command}"

    def describe(self) -> str:
        return printable(f"pid {self.pid} uid {self.uid} {self.command or self.executable}", 200)


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def snapshot() -> list[Process]:
    found, unified = [], cgroups.is_unified()
    for name in os.listdir("/proc"):
        if name.isdigit():
            # A process may end while it is read.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                found.append(_read(int(name), unified))
    return found


def _read(pid: int, unified: bool) -> Process:
    stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    fields = stat[stat.rindex(")") + 2 :].split()
    try:
        executable = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        executable = ""
    command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
    return Process(
        pid=pid,
        started=int(fields[19]),
        parent=int(fields[1]),
        kernel=bool(int(fields[6]) & _KERNEL_THREAD),
        uid=os.stat(f"/proc/{pid}").st_uid,
        executable=executable.removesuffix(" (deleted)"),
        command=command.decode(errors="replace").strip()[:300],
        group=cgroups.unit_group(Path(f"/proc/{pid}/cgroup").read_text(), unified),
        name=stat[stat.index("(") + 1 : stat.rindex(")")],
        # The first thread of a process can end while others continue.
        ended=fields[0] in "ZX" and int(fields[17]) <= 1,
    )


def others() -> list[Process]:
    """Return all processes except the first one, the kernel's, the agent, and all that it started."""
    return [process for process, line in _lines() if os.getpid() not in line]


def foreign(known: Callable[[Process], bool]) -> list[Process]:
    """Return the processes that are not known. A child of the agent must be a program that the agent runs now: what started
    the agent can have left it other children. There is one agent: whatever looks like it is not known.
    """
    rows, agent = _lines(), os.getpid()
    own = {process.likeness for process, _ in rows if process.pid == agent}
    found = [row for row in rows if row[0].pid != agent and (row[0].likeness in own or not known(row[0]))]
    running = commands.running()
    return [process for process, line in found if not (agent in line and running & {*line}) and _exists(process)]


def ancestors() -> list[Process]:
    """Return what started the agent, except the first process."""
    by_pid = {process.pid: process for process in snapshot()}
    return [by_pid[pid] for pid in _line_of(os.getpid(), by_pid)[1:]]


def _lines() -> list[tuple[Process, list[int]]]:
    """Return each process that has not ended, except the first one and the kernel's, with its pid and its ancestors' pids."""
    processes = snapshot()
    by_pid = {process.pid: process for process in processes}
    return [(one, _line_of(one.pid, by_pid)) for one in processes if one.pid != 1 and not one.kernel and not one.ended]


def _exists(process: Process) -> bool:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return _read(process.pid, cgroups.is_unified()).instance == process.instance
    return False


def _line_of(pid: int, by_pid: dict[int, Process]) -> list[int]:
    line: list[int] = []
    while pid in by_pid and pid != 1 and pid not in line:
        line.append(pid)
        pid = by_pid[pid].parent
    return line


def end(
    find: Callable[[], list[Process]], stop_units: Callable[[], None], deadline: Deadline
) -> tuple[int, list[Process]]:
    """Stop and kill the processes that `find` returns until it returns none. Returns (ended, remaining).

    Stopping all of them first keeps a process from starting a child before it is killed.
    """
    ended: set[str] = set()
    left = find()
    while left and deadline.remaining() > 0:
        stop_units()
        for sign in (signal.SIGSTOP, signal.SIGKILL):
            for process in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(process.pid, sign)
        ended.update(process.instance for process in left)
        _wait_gone(left, deadline.at_most(1.0))
        left = find()
    return len(ended), left


def _wait_gone(processes: list[Process], deadline: Deadline) -> None:
    waiting = [process.pid for process in processes]
    while waiting and deadline.remaining() > 0:
        waiting = [pid for pid in waiting if os.path.exists(f"/proc/{pid}")]
        if waiting:
            time.sleep(0.002)
