"""Finds GPUs on the PCI bus, sorted by address; their position is the slot index."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from gpuaas_agent.discovery.tree import HardwareTree

ADDRESS = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")
_DISPLAY_CONTROLLERS = {0x0300, 0x0302, 0x1200}
_GPU_VENDORS = {0x10DE, 0x1002}


@dataclass(frozen=True)
class PciGpu:
    address: str
    vendor: int
    device: int
    numa_node: int | None
    iommu_group: int | None
    virtual_function: dict[str, object] | None
    parent: str


def normal_address(text: str) -> str | None:
    """Return one form for NVML's `00000000:1B:00.0` and sysfs's `0000:1b:00.0`."""
    lowered = text.strip().lower()
    if not ADDRESS.match(lowered):
        return None
    domain, rest = lowered.split(":", 1)
    return f"{int(domain, 16):04x}:{rest}"


def find_gpus(tree: HardwareTree) -> list[PciGpu]:
    folder = tree.sys("bus", "pci", "devices")
    found = []
    for name in tree.names(folder):
        address = normal_address(name)
        if address is None:
            tree.warn("pci_address_malformed", folder / name, "not a PCI address")
            continue
        gpu = _read_gpu(tree, folder / name, address)
        if gpu is not None:
            found.append(gpu)
    return sorted(found, key=lambda gpu: gpu.address)


def _read_gpu(tree: HardwareTree, device: Path, address: str) -> PciGpu | None:
    class_code = tree.integer(device / "class", base=16)
    if class_code is None or class_code >> 8 not in _DISPLAY_CONTROLLERS:
        return None
    vendor = tree.integer(device / "vendor", base=16)
    device_id = tree.integer(device / "device", base=16)
    if vendor is None or device_id is None or vendor not in _GPU_VENDORS:
        return None
    numa = tree.integer(device / "numa_node", optional=True)
    return PciGpu(
        address=address,
        vendor=vendor,
        device=device_id,
        numa_node=numa if numa is not None and 0 <= numa < 1024 else None,
        iommu_group=_iommu_group(tree, device),
        virtual_function=_virtual_function(tree, device),
        parent=parent_bus(device),
    )


def parent_bus(device: Path) -> str:
    """Return the root complex of a device; near devices share it."""
    try:
        for part in device.resolve().parts:
            if part.startswith("pci") and ":" in part:
                return part
    except (OSError, RuntimeError):
        pass
    return ""


def _iommu_group(tree: HardwareTree, device: Path) -> int | None:
    name = tree.link_name(device / "iommu_group")
    return int(name) if name is not None and name.isascii() and name.isdigit() else None


def _virtual_function(tree: HardwareTree, device: Path) -> dict[str, object] | None:
    """Return the SR-IOV facts of a device: its physical function, or how many virtual functions it supports."""
    physical = tree.link_name(device / "physfn")
    if physical is not None:
        return {"is_virtual": True, "physical_address": physical}
    total = tree.integer(device / "sriov_totalvfs", optional=True)
    if not total or total < 0:
        return None
    active = tree.integer(device / "sriov_numvfs", optional=True)
    return {"is_virtual": False, "total": total, "active": active or 0}
