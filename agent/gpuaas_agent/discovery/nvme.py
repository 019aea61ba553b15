"""Finds local NVMe drives and assigns one drive to each GPU, the nearest first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpuaas_agent.discovery.pci import PciGpu, parent_bus
from gpuaas_agent.discovery.tree import HardwareTree

_CONTROLLER = re.compile(r"^nvme\d{1,4}$")
_NAMESPACE = re.compile(r"^nvme\d{1,4}n\d{1,4}$")


@dataclass(frozen=True)
class NvmeDrive:
    device: str
    numa_node: int | None
    parent: str


def find_drives(tree: HardwareTree) -> list[NvmeDrive]:
    folder = tree.sys("class", "nvme")
    found = []
    for name in tree.names(folder):
        if not _CONTROLLER.match(name):
            continue
        namespaces = [entry for entry in tree.names(folder / name) if _NAMESPACE.match(entry)]
        if not namespaces:
            tree.warn("nvme_without_namespace", folder / name, "the drive has no namespace")
            continue
        device = folder / name / "device"
        numa = tree.integer(device / "numa_node", optional=True)
        found.append(
            NvmeDrive(
                device=f"/dev/{namespaces[0]}",
                numa_node=numa if numa is not None and numa >= 0 else None,
                parent=parent_bus(device),
            )
        )
    return sorted(found, key=lambda drive: (len(drive.device), drive.device))


def pair(gpus: Sequence[PciGpu], drives: Sequence[NvmeDrive]) -> dict[str, str]:
    """Return GPU address → drive. A pair never crosses a NUMA boundary that is known on both sides."""
    free = list(drives)
    chosen: dict[str, str] = {}
    for same_bus in (True, False):
        for gpu in gpus:
            if gpu.address in chosen:
                continue
            for drive in free:
                if _is_near(gpu, drive, same_bus):
                    chosen[gpu.address] = drive.device
                    free.remove(drive)
                    break
    return chosen


def _is_near(gpu: PciGpu, drive: NvmeDrive, same_bus: bool) -> bool:
    if same_bus:
        return bool(gpu.parent) and gpu.parent == drive.parent
    if gpu.numa_node is None or drive.numa_node is None:
        return True
    return gpu.numa_node == drive.numa_node
