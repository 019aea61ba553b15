"""Reads from sysfs which block devices the kernel has, and which node in /dev is the kernel's own.

Block devices are described by size and identity: a drive with a part that no node names keeps data through every erasure.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

SYSFS = Path("/sys")
_FACTS = {
    "sectors": "size",
    "read-only": "ro",
    "id": "wwid",
    "of the drive": "device/wwid",
    "serial": "device/serial",
    "mapped as": "dm/name",
    "backed by": "loop/backing_file",
}


def block_devices(sysfs: Path = SYSFS) -> Iterator[str]:
    """Return one line for each drive, partition, and mapped, looped or joined device. Without sysfs it raises."""
    for entry in sorted((sysfs / "class/block").iterdir()):
        texts = {name: _read(entry / file) for name, file in _FACTS.items()}
        facts = " ".join(f"{name} {text}" for name, text in texts.items() if text)
        yield f"block device {entry.name} {facts}"[:300]


def drives(sysfs: Path = SYSFS) -> list[str]:
    """Return the nodes of the drives that have a medium: neither partitions nor mapped, looped or compressed devices."""
    found = sorted((sysfs / "class/block").iterdir())
    return [
        f"/dev/{entry.name}"
        for entry in found
        if (entry / "device").exists() and not (entry / "partition").exists() and _read(entry / "size") not in ("", "0")
    ]


def is_kernels_own(path: str, status: os.stat_result, sysfs: Path = SYSFS) -> bool:
    """Tell whether the kernel itself gives this device this node. Removing such a node would hide the device, not remove it."""
    kinds = {stat.S_IFBLK: "block", stat.S_IFCHR: "char"}
    kind = kinds.get(stat.S_IFMT(status.st_mode))
    if kind is None:
        return False
    number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    lines = _read(sysfs / "dev" / kind / number / "uevent").split()
    return f"DEVNAME={path.removeprefix('/dev/')}" in lines


def _read(path: Path) -> str:
    """Return the text on one line; a device that has no such file, or has just gone, has none."""
    try:
        return " ".join(path.read_text(errors="replace").split())
    except OSError:
        return ""
