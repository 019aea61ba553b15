"""Reads the mount table, and which mounts belong to the root file system that a tenant can write."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from gpuaas_agent import commands
from gpuaas_agent.commands import Deadline

# The system itself mounts these when services start and stop.
_TRANSIENT = ("/run/credentials/", "/proc/sys/fs/binfmt_misc")
_KERNEL_FILES = ("/proc/", "/sys/", "/dev/")
_ON_DISK = {"ext2", "ext3", "ext4", "xfs", "btrfs", "overlay", "f2fs", "vfat", "zfs"}


@dataclass(frozen=True)
class Mount:
    point: str
    root: str
    kind: str
    source: str
    read_only: bool

    @property
    def is_on_disk(self) -> bool:
        return self.kind in _ON_DISK

    @property
    def is_another_view(self) -> bool:
        """Tell whether it only shows a folder that is elsewhere, and cannot be written here. A subvolume is no view."""
        return self.read_only and self.root != "/" and self.kind != "btrfs"

    @property
    def label(self) -> str:
        """A label that stays the same after a reboot. A mount over kernel files may come from a folder with a random
        name, so its label leaves that out.
        """
        root = "" if self.point.startswith(_KERNEL_FILES) else self.root
        return f"{self.point} {self.kind} {self.source} {root}".rstrip()


def table(process: str = "self") -> list[Mount]:
    return [_parse(line) for line in Path(f"/proc/{process}/mountinfo").read_text().splitlines()]


def _parse(line: str) -> Mount:
    left, _, right = line.partition(" - ")
    fields, (kind, source) = left.split(), right.split()[:2]
    return Mount(
        point=_unescape(fields[4]),
        root=_unescape(fields[3]),
        kind=kind,
        source=_unescape(source),
        read_only="ro" in fields[5].split(","),
    )


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def stable(mounts: list[Mount], ignored: tuple[str, ...]) -> list[Mount]:
    return [mount for mount in mounts if not mount.point.startswith(_TRANSIENT + ignored)]


def not_part_of_root(mounts: list[Mount]) -> set[str]:
    """Return mount points that a walk of the root file system must not enter. A file system on disk that is mounted read-only
    is walked: whoever is root can write it and mount it read-only again.
    """
    return {mount.point for mount in mounts if mount.point != "/" and (not mount.is_on_disk or mount.is_another_view)}


def points_within(path: str) -> list[str]:
    """Return the mount points at this path and below it."""
    return [mount.point for mount in table() if f"{mount.point}/".startswith(f"{path.rstrip('/')}/")]


def unmount(point: str, deadline: Deadline) -> bool:
    for lazily in ([], ["--lazy"]):
        if commands.attempt(["umount", *lazily, "--", point], deadline).returncode == 0:
            return True
    return False
