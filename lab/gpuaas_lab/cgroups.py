"""The cgroups of hosts: one of the same name in every hierarchy; membership says which processes are whose.

A host joins the first hierarchy first and leaves the machine from there first, so that a starter that was killed
half-way either is found in the group or fails to join it.
"""

import os
import time
from pathlib import Path

from gpuaas_lab.cgroup_layouts import CgroupLayout, find_layout, layout_problems
from gpuaas_lab.errors import DeadlinePassed, RequirementMissing
from gpuaas_lab.layout import PREFIX
from gpuaas_lab.processes import kill_if, namespace_pids


def layout() -> CgroupLayout:
    found = find_layout()
    if found is None:
        raise RequirementMissing(layout_problems())
    return found


def hierarchies() -> list[Path]:
    """Mount points of all cgroup hierarchies; a machine without any has no groups either."""
    found = find_layout()
    return found.hierarchies if found else []


def create(name: str) -> None:
    layout().create(name)


def hold(name: str, cores: float) -> None:
    layout().hold(name, cores)


def join_script(name: str) -> str:
    """Shell lines by which a shell moves itself into the group."""
    return _join([hierarchy / name for hierarchy in hierarchies()])


def enter_script(name: str, leader: int) -> str:
    """The same for a command that shall run inside the booted host of this group."""
    return _join(layout().groups_of_commands(name, leader))


def _join(groups: list[Path]) -> str:
    return "\n".join(f"echo 0 > {group}/cgroup.procs" for group in groups)  # 0 means the writer


def names() -> set[str]:
    """All groups of the lab in any hierarchy."""
    found: set[str] = set()
    for hierarchy in hierarchies():
        found.update(entry.name for entry in hierarchy.glob(f"{PREFIX}*") if entry.is_dir())
    return found


def members(name: str) -> set[int]:
    """Processes in the group or below it, in any hierarchy."""
    found: set[int] = set()
    for hierarchy in hierarchies():
        for folder, _, _ in os.walk(hierarchy / name):
            try:
                found.update(int(pid) for pid in Path(folder, "cgroup.procs").read_text().split())
            except OSError:
                continue  # the group went away, or lists a process that just did
    return found


def is_member(pid: int, name: str) -> bool:
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return False
    paths = [line.split(":", 2)[2] for line in lines]
    return any(path == f"/{name}" or path.startswith(f"/{name}/") for path in paths)


def leader(name: str) -> int | None:
    """The process that is PID 1 of the host in this group (not of a slice inside it)."""
    depth = len(namespace_pids(os.getpid())) + 1
    for pid in members(name):
        inner = namespace_pids(pid)
        if len(inner) == depth and inner[-1] == 1:
            return pid
    return None


def kill_member(pid: int, name: str) -> None:
    kill_if(pid, lambda candidate: is_member(candidate, name))


def kill_all(names_to_kill: list[str]) -> None:
    """One SIGKILL for everything in several groups, without waiting: they end together."""
    for name in names_to_kill:
        for pid in members(name):
            kill_member(pid, name)


def kill_members(name: str, timeout: float = 60.0) -> None:
    deadline = time.monotonic() + timeout
    while pids := members(name):
        if time.monotonic() > deadline:
            raise DeadlinePassed(f"processes {sorted(pids)} of {name} survive SIGKILL")
        for pid in pids:
            kill_member(pid, name)
        time.sleep(0.02)


def remove(name: str, timeout: float = 60.0) -> None:
    """Kill what is in the group and remove it from every hierarchy."""
    deadline = time.monotonic() + timeout
    for hierarchy in hierarchies():
        while (hierarchy / name).is_dir():
            kill_members(name, timeout)
            if _remove_tree(hierarchy / name):
                break
            if time.monotonic() > deadline:
                raise DeadlinePassed(f"the cgroup {hierarchy / name} stays busy")
            time.sleep(0.02)


def _remove_tree(group: Path) -> bool:
    for folder, _, _ in os.walk(group, topdown=False):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            continue
        except OSError:
            return False
    return True
