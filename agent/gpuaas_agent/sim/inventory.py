"""Generates the inventory of a typical machine: two sockets, with the GPUs split between them."""

from __future__ import annotations

import hashlib
import ipaddress


def make_inventory(node_index: int, gpus: int, model: str = "NVIDIA H100 80GB HBM3") -> dict[str, object]:
    """Return the inventory of a node; the same index always gives the same inventory."""
    return {
        "host": {
            "cpus": 128,
            "memory_mib": 2_097_152,
            "kernel": "6.1.0-sim",
            "numa_nodes": [{"node": 0, "cpulist": "0-63"}, {"node": 1, "cpulist": "64-127"}],
        },
        "slots": [_slot(node_index, index, gpus, model) for index in range(gpus)],
        "warnings": [],
    }


def _slot(node_index: int, index: int, gpus: int, model: str) -> dict[str, object]:
    socket = 0 if index < (gpus + 1) // 2 else 1
    return {
        "slot_index": index,
        "gpu_model": model,
        "gpu_uuid": f"GPU-{node_index:08x}-0000-4000-8000-{index:012x}",
        "memory_mib": 81_559,
        "pci_address": f"0000:{0x10 + index:02x}:00.0",
        "numa_node": socket,
        "nvlink_group": socket if gpus > 1 else None,
        "nvme_device": f"/dev/nvme{index}n1",
        "iommu_group": 20 + index,
        "vf": None,
    }


def make_address(node_index: int) -> str:
    """Return an address from the benchmarking range, which no real host uses."""
    offset = node_index % 131_072
    return f"198.{18 + offset // 65_536}.{offset // 256 % 256}.{offset % 256}"


def make_other_address(public_key: bytes) -> str:
    """Return a unique address from the documentation range, for a node whose usual address is taken."""
    return str(ipaddress.IPv6Address(b"\x20\x01\x0d\xb8" + hashlib.sha256(public_key).digest()[:12]))
