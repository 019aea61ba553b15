"""Local NVMe drives that were a tenant's: erased by discard, then read back in samples."""

from __future__ import annotations

import os
import random
import stat

from gpuaas_agent import commands
from gpuaas_agent.commands import Deadline
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host import mounts
from gpuaas_agent.specs import Slot

_SAMPLE = 1 << 20
_SAMPLES = 64


def present(slots: tuple[Slot, ...]) -> list[str]:
    """Drives of the slots that this host really has as block devices."""
    found = []
    for slot in slots:
        if slot.nvme_device is not None:
            try:
                mode = os.stat(slot.nvme_device).st_mode
            except FileNotFoundError:
                continue
            if stat.S_ISBLK(mode):
                found.append(slot.nvme_device)
    return found


def erase(device: str, deadline: Deadline) -> None:
    if any(mount.source.startswith(device) for mount in mounts.table()):
        raise TaskFailure(
            "drive_in_use",
            f"{device} is mounted on this host",
            "Unmount it, or take it out of the slot: the platform will not erase a system drive.",
        )
    commands.run(["blkdiscard", "--force", device], deadline)


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
