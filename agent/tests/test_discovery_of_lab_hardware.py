"""Discovery reads the hardware that the lab pretends, for every number of GPUs that it offers."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuaas_agent.discovery import discover

hardware = pytest.importorskip("gpuaas_lab.hardware")


@pytest.mark.parametrize("gpus", range(9))
def test_every_gpu_of_a_lab_host_is_found_with_its_drive_and_its_neighbours(tmp_path: Path, gpus: int) -> None:
    hardware.write_tree(tmp_path, "host-1", gpus)
    inventory = discover(tmp_path)
    slots = inventory["slots"]
    assert isinstance(slots, list)
    assert inventory["warnings"] == []
    assert [slot["slot_index"] for slot in slots] == list(range(gpus))
    assert [slot["nvme_device"] for slot in slots] == [f"/dev/nvme{n}n1" for n in range(gpus)]
    for slot in slots:
        assert slot["numa_node"] == hardware.numa_node_of(slot["slot_index"], gpus)
        assert slot["iommu_group"] == 20 + slot["slot_index"] * 4
    islands = [slot["nvlink_group"] for slot in slots]
    assert islands[:4] == [0] * min(gpus, 4) if gpus > 1 else islands == [None] * gpus
