"""Detects the host's cgroups: version 2 only (stock Debian 12), or with version 1 controllers."""

from __future__ import annotations

from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def is_unified(root: Path = ROOT) -> bool:
    return (root / "cgroup.controllers").exists()


def unit_group(listing: str, unified: bool) -> str:
    """Return the group by which systemd tracks a process, from its /proc/PID/cgroup.

    A kernel may list version 1 hierarchies that this host's systemd does not use.
    """
    tracking = "" if unified else "name=systemd"
    groups = dict(line.split(":", 2)[1:] for line in listing.splitlines())
    return groups.get(tracking, groups.get("", ""))


def traces_of_unit(unit: str, root: Path = ROOT) -> list[Path]:
    """Return the paths where a group of this unit would be, in every hierarchy."""
    hierarchies = [root] if is_unified(root) else sorted(path for path in root.iterdir() if path.is_dir())
    return [hierarchy / "system.slice" / unit for hierarchy in hierarchies]
