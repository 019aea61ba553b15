"""Local NVMe drives that were a tenant's: erased by discard, then read back in samples.

A drive that was given to a tenant and is not here any more is not clean: nobody has seen it erased.
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
from gpuaas_agent.host.verify import Check, check
from gpuaas_agent.specs import Slot

_SAMPLE = 1 << 20
_SAMPLES = 64


def named(slots: Iterable[Slot]) -> tuple[str, ...]:
    return tuple(slot.nvme_device for slot in slots if slot.nvme_device is not None)


def expected(*given: tuple[str, ...]) -> tuple[str, ...]:
    """Every drive that one of the sources names: a drive that left the inventory is still remembered."""
    return tuple(sorted(set().union(*given)))


def is_here(device: str) -> bool:
    """Any other answer than "no such file" is not absence: it raises."""
    try:
        return stat.S_ISBLK(os.stat(device).st_mode)
    except FileNotFoundError:
        return False


def erase_all(devices: Iterable[str], deadline: Deadline) -> list[str]:
    """Erase those that are here; the answer is those that are not."""
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
            "Unmount it, or take it out of the slot: the platform will not erase a system drive.",
        )
    commands.run(["blkdiscard", "--force", device], deadline)


def holds(device: str, source: str) -> bool:
    """Whether the source of a mount is the drive or one of its partitions."""
    return re.fullmatch(re.escape(device) + r"(p\d+)?", source) is not None


def inspect(devices: tuple[str, ...], *, erased_here: bool) -> Check:
    """The check `drives`. Where the operator has turned erasing off, it says so and proves nothing."""
    if not erased_here:
        return Check("drives", True, [], 0, "erasing drives is off on this host (erase_drives in agent.json)")

    def look() -> tuple[int, list[str]]:
        found = []
        for device in devices:
            found += leftovers(device) if is_here(device) else [f"{device} is absent: nobody saw it erased"]
        return len(devices), found

    return check("drives", look)


def leftovers(device: str) -> list[str]:
    """Offsets that do not read as zeros. A read error raises: it is not absence."""
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
