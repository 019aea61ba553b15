"""Which cgroups this host has: version 2 alone (stock Debian 12), or version 1 controllers beside it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def is_unified(root: Path = ROOT) -> bool:
    return (root / "cgroup.controllers").exists()


def unit_group(listing: str, unified: bool) -> str:
    """The group by which systemd tracks a process, from its /proc/PID/cgroup.

    A kernel may list version 1 hierarchies that this host's systemd does not use.
    """
    tracking = "" if unified else "name=systemd"
    groups = dict(line.split(":", 2)[1:] for line in listing.splitlines())
    return groups.get(tracking, groups.get("", ""))


def traces_of_unit(unit: str, root: Path = ROOT) -> list[Path]:
    """Where a group of this unit would show, in every hierarchy."""
    hierarchies = [root] if is_unified(root) else sorted(path for path in root.iterdir() if path.is_dir())
    return [hierarchy / "system.slice" / unit for hierarchy in hierarchies]
