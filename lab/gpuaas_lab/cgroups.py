"""The cgroups of hosts: one group of the same name in every hierarchy identifies the processes of a host.

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
    """Return the mount points of all cgroup hierarchies; empty on a machine without cgroups."""
    found = find_layout()
    return found.hierarchies if found else []


def create(name: str) -> None:
    layout().create(name)


def limit_cpu(name: str, cores: float) -> None:
    layout().hold(name, cores)


def join_script(name: str) -> str:
    """Return shell lines that move the shell itself into the group."""
    return _join([hierarchy / name for hierarchy in hierarchies()])


def power_supply_script(name: str) -> str:
    """Return shell lines that move the shell that restarts the host into a group that the host does not manage."""
    return "\n".join(f"mkdir -p {group}; echo 0 > {group}/cgroup.procs" for group in layout().power_supply_groups(name))


def clear_script(name: str) -> str:
    """Return shell lines that remove the groups below a host's own group; groups in use stay."""
    groups = " ".join(str(hierarchy / name) for hierarchy in hierarchies())
    return f"find {groups} -mindepth 1 -depth -type d -exec rmdir {{}} + 2>/dev/null || true"


def enter_script(name: str, leader: int) -> str:
    """Return shell lines for a command that runs inside the booted host of this group."""
    return _join(layout().groups_of_commands(name, leader))


def _join(groups: list[Path]) -> str:
    return "\n".join(f"echo 0 > {group}/cgroup.procs" for group in groups)  # 0 means the writer


def names() -> set[str]:
    """Return the names of all groups of the lab, in any hierarchy."""
    found: set[str] = set()
    for hierarchy in hierarchies():
        found.update(entry.name for entry in hierarchy.glob(f"{PREFIX}*") if entry.is_dir())
    return found


def members(name: str) -> set[int]:
    """Return the processes in the group or below it, in any hierarchy."""
    found: set[int] = set()
    for hierarchy in hierarchies():
        for folder, _, _ in os.walk(hierarchy / name):
            try:
                found.update(int(pid) for pid in Path(folder, "cgroup.procs").read_text().split())
            except OSError:
                continue  # the group or a listed process is already gone
    return found


def is_member(pid: int, name: str) -> bool:
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return False
    paths = [line.split(":", 2)[2] for line in lines]
    return any(path == f"/{name}" or path.startswith(f"/{name}/") for path in paths)


def leader(name: str) -> int | None:
    """Return the process that is PID 1 of the host in this group, not of a slice inside it."""
    depth = len(namespace_pids(os.getpid())) + 1
    for pid in members(name):
        inner = namespace_pids(pid)
        if len(inner) == depth and inner[-1] == 1:
            return pid
    return None


def kill_member(pid: int, name: str) -> None:
    kill_if(pid, lambda candidate: is_member(candidate, name))


def kill_all(names_to_kill: list[str]) -> None:
    """Send SIGKILL to everything in several groups without waiting, so that they end together."""
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
