"""Erases a tenant's local NVMe drives by discard, and reads samples back.

A drive that a tenant had and that is now absent is not clean: its erasure is not proven.
"""

from __future__ import annotations

import os
import random
import re
import stat
from collections.abc import Iterable

from gpuaas_agent import commands
from gpuaas_agent.commands import Deadline
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host import mounts
from gpuaas_agent.host.checks import Check, Finding, NotExamined, check
from gpuaas_agent.specs import Slot

_SAMPLE = 1 << 20
_SAMPLES = 64


def named(slots: Iterable[Slot]) -> tuple[str, ...]:
    return tuple(slot.nvme_device for slot in slots if slot.nvme_device is not None)


def expected(*given: tuple[str, ...]) -> tuple[str, ...]:
    """Return every drive that one of the sources names; a drive that left the inventory is still included."""
    return tuple(sorted(set().union(*given)))


def is_here(device: str) -> bool:
    """Tell whether the drive exists. Any error but "no such file" raises: it does not prove absence."""
    try:
        return stat.S_ISBLK(os.stat(device).st_mode)
    except FileNotFoundError:
        return False


def erase_all(devices: Iterable[str], deadline: Deadline) -> list[str]:
    """Erase the present drives and return the absent ones."""
    absent = []
    for device in devices:
        if is_here(device):
            erase(device, deadline)
        else:
            absent.append(device)
    return absent


def erase(device: str, deadline: Deadline) -> None:
    if any(holds(device, mount.source) for mount in mounts.table()):
        raise TaskFailure(
            "drive_in_use",
            f"{device} is mounted on this host",
            "Unmount the drive, or remove it from the slot: the platform does not erase a system drive.",
        )
    commands.run(["blkdiscard", "--force", device], deadline)
    # The kernel keeps the partitions that are no more, until it reads the empty table. One in use is found later.
    commands.attempt(["blockdev", "--rereadpt", device], deadline)


def holds(device: str, source: str) -> bool:
    """Tell whether the source of a mount is the drive or one of its partitions."""
    return re.fullmatch(re.escape(device) + r"(p\d+)?", source) is not None


def inspect(devices: tuple[str, ...], *, erased_here: bool) -> Check:
    """Run the check `drives`. If drives are not erased on this node, the check is not examined and proves nothing."""

    def look() -> Finding:
        if devices and not erased_here:
            raise NotExamined(f"{len(devices)} drives of the slots are not erased on this node")
        found = []
        for device in devices:
            found += leftovers(device) if is_here(device) else [f"{device} is absent: its erasure is not proven"]
        return len(devices), found

    return check("drives", look, "kernel")


def leftovers(device: str) -> list[str]:
    """Return sampled offsets that are not zero. A read error raises: it does not prove erasure."""
    found = []
    with open(device, "rb", buffering=0) as drive:
        size = drive.seek(0, os.SEEK_END)
        offsets = {0, max(0, size - _SAMPLE)}
        offsets |= {random.randrange(0, max(1, size)) & ~4095 for _ in range(_SAMPLES)}
        for offset in sorted(offsets):
            drive.seek(offset)
            if drive.read(_SAMPLE).strip(b"\0"):
                found.append(f"{device} at {offset}")
    return found
