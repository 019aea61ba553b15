"""Discovery reads the hardware that the lab pretends, for every number of GPUs that it offers."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuaas_agent.discovery import discover
from gpuaas_lab.hardware import write_hardware


@pytest.mark.parametrize("gpus", range(9))
def test_every_gpu_of_a_lab_host_is_found_with_its_drive_and_its_neighbours(tmp_path: Path, gpus: int) -> None:
    write_hardware(tmp_path, "host-1", gpus)
    inventory = discover(tmp_path)
    slots = inventory["slots"]
    assert isinstance(slots, list)
    assert inventory["warnings"] == []
    assert [slot["slot_index"] for slot in slots] == list(range(gpus))
    assert len({slot["nvme_device"] for slot in slots} - {None}) == gpus
    assert all(slot["numa_node"] in (0, 1) for slot in slots)
    assert all(slot["iommu_group"] is not None for slot in slots)
