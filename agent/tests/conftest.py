"""What several tests share: a control plane in a thread, and a hardware tree to spoil."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from little_platform import LittlePlatform


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[LittlePlatform]:
    folder = tmp_path / "platform"
    folder.mkdir()
    with LittlePlatform(folder) as serving:
        yield serving


@pytest.fixture
def hw_root(tmp_path: Path) -> Path:
    """Four GPUs on two NUMA nodes, linked in pairs, with an NVMe drive each."""
    root = tmp_path / "hw"
    gpus = []
    for index in range(4):
        address, numa = f"0000:{0x10 + index:02x}:00.0", index // 2
        device = root / "sys/bus/pci/devices" / address
        device.mkdir(parents=True)
        facts = {"class": "0x030200", "vendor": "0x10de", "device": "0x2330", "numa_node": numa}
        for name, value in facts.items():
            (device / name).write_text(f"{value}\n")
        peer = f"0000:{0x10 + (index ^ 1):02x}:00.0"
        gpus.append(
            {
                "uuid": f"GPU-{index}",
                "pci_address": address,
                "name": "NVIDIA H100",
                "memory_mib": 81559,
                "nvlink_peers": [peer],
            }
        )
        drive = root / f"sys/class/nvme/nvme{index}"
        (drive / f"nvme{index}n1").mkdir(parents=True)
        (drive / "device").mkdir()
        (drive / "device/numa_node").write_text(f"{numa}\n")
    for node in range(2):
        folder = root / f"sys/devices/system/node/node{node}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(f"{node * 8}-{node * 8 + 7}\n")
    (root / "nvml.json").write_text(json.dumps({"gpus": gpus}))
    return root
