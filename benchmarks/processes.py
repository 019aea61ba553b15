"""Reads CPU time and memory of processes from /proc."""

import os
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pids: list[int]) -> float:
    """User and system time so far, that of children that have ended included: a database's processes come and go."""
    return sum(sum(map(int, fields[11:15])) for fields in map(_stat, pids) if fields) / _TICK


def family(parent: int) -> list[int]:
    """Return the process and all its descendants."""
    parents = {int(entry.name): _stat(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    found = [parent]
    for member in found:
        found += [pid for pid, fields in parents.items() if fields and int(fields[1]) == member]
    return found


def resident_megabytes(pid: int) -> float:
    return _rollup(pid, "Rss:")


def own_megabytes(pid: int) -> float:
    """Return the memory that the process does not share."""
    return _rollup(pid, "Private_Clean:") + _rollup(pid, "Private_Dirty:")


def _rollup(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024 / 1e6


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat after the name: state, parent, …"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
