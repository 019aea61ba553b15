"""Combines the facts from sysfs and from the driver into the inventory that is sent to the server."""

from __future__ import annotations

from pathlib import Path

from gpuaas_agent.discovery import numa, nvme, nvml, pci
from gpuaas_agent.discovery.tree import HardwareTree

_REAL_ROOT = Path("/")
_MOST_WARNINGS = 200


def discover(hw_root: Path | None) -> dict[str, object]:
    tree = HardwareTree(hw_root or _REAL_ROOT)
    gpus = pci.find_gpus(tree)
    known = nvml.read_gpus(tree, real=hw_root is None)
    groups = nvml.nvlink_groups(known)
    drives = nvme.pair(gpus, nvme.find_drives(tree))
    slots = []
    # The index counts every GPU on the bus, so that a GPU that is left out does not change the index of others.
    for index, gpu in enumerate(gpus):
        driver_gpu = known.get(gpu.address)
        if driver_gpu is None:
            tree.warn(
                "gpu_unknown_to_driver",
                tree.sys("bus", "pci", "devices", gpu.address),
                "the driver does not list this GPU; it is left out",
            )
            continue
        slots.append(_slot(gpu, driver_gpu, groups, drives, index))
    for address in sorted(set(known) - {gpu.address for gpu in gpus}):
        tree.warn(
            "gpu_not_on_bus",
            tree.sys("bus", "pci", "devices", address),
            "the driver lists a GPU that the bus does not show; it is left out",
        )
    return {
        "host": numa.host_facts(tree),
        "slots": slots,
        "warnings": [warning.wire() for warning in tree.warnings[:_MOST_WARNINGS]],
    }


def _slot(
    gpu: pci.PciGpu,
    driver_gpu: nvml.DriverGpu,
    groups: dict[str, int],
    drives: dict[str, str],
    index: int,
) -> dict[str, object]:
    numa_node = gpu.numa_node if gpu.numa_node is not None else driver_gpu.numa_node
    return {
        "slot_index": index,
        "gpu_model": driver_gpu.name,
        "gpu_uuid": driver_gpu.uuid,
        "memory_mib": driver_gpu.memory_mib,
        "pci_address": gpu.address,
        "numa_node": numa_node,
        "nvlink_group": groups.get(gpu.address),
        "nvme_device": drives.get(gpu.address),
        "iommu_group": gpu.iommu_group,
        "vf": gpu.virtual_function,
    }
