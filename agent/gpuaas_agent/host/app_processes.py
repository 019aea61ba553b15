"""Finds the processes of an app: by name, account, program file, unit or mark, and all their children.

A process that lost its parent is still in its unit's control group, or still has the mark in its environment.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from gpuaas_agent.footprint import Footprint, matching, under, unit_matching
from gpuaas_agent.host.processes import Process

# An app's controller sets this variable for what it starts; children inherit it, even after they lose their parent.
MARK = "GPUAAS_INSTANCE"
_INTERPRETERS = ("python", "perl", "ruby", "node", "bash", "sh", "dash")
_COMM_LENGTH = 15
_LARGEST_ENVIRONMENT = 1 << 20


def find_app_processes(
    processes: Sequence[Process], footprint: Footprint, uids: frozenset[int], instance_id: str
) -> dict[int, str]:
    """Return pid → the reason why the process belongs to the app."""
    found: dict[int, str] = {}
    for process in processes:
        why = _own_reason(process, footprint, uids, instance_id)
        if why is not None:
            found[process.pid] = why
    _adopt_children(processes, found)
    return found


def describe(process: Process) -> str:
    """Describe a process without its arguments, which may contain a secret."""
    unit = next((part for part in reversed(process.group.split("/")) if "." in part), "")
    where = f" in {unit}" if unit else ""
    return f"pid {process.pid} uid {process.uid} {_base(process.executable) or process.name}{where}"


def _own_reason(process: Process, footprint: Footprint, uids: frozenset[int], instance_id: str) -> str | None:
    words = process.command.split(" ")
    program = _base(process.executable)
    script = words[1] if len(words) > 1 and program.startswith(_INTERPRETERS) else ""
    for name in filter(None, (program, _base(words[0]), process.name, _base(script))):
        pattern = matching(footprint.processes, name) or _cut(footprint.processes, name)
        if pattern is not None:
            return f"named {pattern}"
    if process.uid in uids:
        return "runs as an account of the app"
    for file in (process.executable, script):
        if file.startswith("/") and (path := under(footprint.paths, file)) is not None:
            return f"runs from {path}"
    for part in process.group.split("/"):
        if (pattern := unit_matching(footprint.units, part)) is not None:
            return f"belongs to {pattern}"
    return "carries the instance's mark" if instance_id and _is_marked(process.pid, instance_id) else None


def _cut(patterns: tuple[str, ...], name: str) -> str | None:
    """Match a name that the kernel truncated to fifteen characters."""
    if len(name) != _COMM_LENGTH:
        return None
    return next((pattern for pattern in patterns if pattern[:_COMM_LENGTH] == name), None)


def _is_marked(pid: int, instance_id: str) -> bool:
    with contextlib.suppress(OSError):
        with Path(f"/proc/{pid}/environ").open("rb") as file:
            return f"{MARK}={instance_id}".encode() in file.read(_LARGEST_ENVIRONMENT).split(b"\0")
    return False


def _adopt_children(processes: Sequence[Process], found: dict[int, str]) -> None:
    children: dict[int, list[int]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process.pid)
    waiting = list(found)
    while waiting:
        parent = waiting.pop()
        for child in children.get(parent, []):
            if child not in found:
                found[child] = f"child of pid {parent}"
                waiting.append(child)


def _base(path: str) -> str:
    return path.rpartition("/")[2]
