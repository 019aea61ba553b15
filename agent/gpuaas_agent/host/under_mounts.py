"""Lists what lies on disk under mount points, where a walk of the mounted file systems does not come.

A private copy of each mount, without the mounts in it, shows these files. No process sees the copy, and it ends with its
descriptor.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gpuaas_agent.host import manifest, mounts
from gpuaas_agent.host.mounts import Mount

_OPEN_TREE = 428  # the number is the same on all architectures
_OPEN_TREE_CLONE = 1
_AT_FDCWD = -100


@dataclass(frozen=True)
class CoveredFolder:
    """A mount point, and where its folder on disk can be reached while `opened` lasts."""

    point: str
    place: str

    def find(self) -> manifest.Manifest:
        """Return the folder and everything in it, under the names that they would have without the mount."""
        found = manifest.scan_plain(self.place)
        return {self.point + path.removeprefix(self.place): entry for path, entry in found.items()}


@contextmanager
def opened(table: list[Mount] | None = None) -> Iterator[list[CoveredFolder]]:
    """Yield the folders under all mount points that lie on a file system on disk. A kernel that refuses raises."""
    table = mounts.table() if table is None else table
    covering = {point: parent for point, parent in _parents(table).items() if parent.is_on_disk}
    copies: dict[str, int] = {}
    try:
        for parent in {mount.point for mount in covering.values()}:
            copies[parent] = _copy_of_mount(parent)
        yield [
            CoveredFolder(point, os.path.join(f"/proc/self/fd/{copies[parent.point]}", _below(point, parent.point)))
            for point, parent in sorted(covering.items())
        ]
    finally:
        for descriptor in copies.values():
            os.close(descriptor)


def scan() -> manifest.Manifest:
    with opened() as folders:
        return {path: entry for folder in folders for path, entry in folder.find().items()}


def _parents(table: list[Mount]) -> dict[str, Mount]:
    """Return, for each mount point but the root, the mount that its folder is in."""
    topmost = {mount.point: mount for mount in table}
    found = {}
    for point in topmost:
        if point == "/":
            continue
        above = os.path.dirname(point)
        while above not in topmost and above != "/":
            above = os.path.dirname(above)
        if above in topmost:
            found[point] = topmost[above]
    return found


def _below(point: str, parent: str) -> str:
    return point.removeprefix(parent).lstrip("/")


def _copy_of_mount(point: str) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    flags = ctypes.c_uint(_OPEN_TREE_CLONE | os.O_CLOEXEC)
    descriptor = int(library.syscall(ctypes.c_long(_OPEN_TREE), ctypes.c_int(_AT_FDCWD), os.fsencode(point), flags))
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"the kernel does not show what is under the mounts: {os.strerror(number)}", point)
    return descriptor
