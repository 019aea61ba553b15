"""What the agent makes of a hardware tree, sound or spoiled."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpuaas_agent.discovery import discover
from gpuaas_agent.discovery.nvml import DriverGpu, nvlink_groups
from gpuaas_agent.discovery.pci import normal_address


def slots_of(root: Path) -> list[dict[str, Any]]:
    slots = discover(root)["slots"]
    assert isinstance(slots, list)
    return slots


def codes_of(root: Path) -> set[str]:
    warnings = discover(root)["warnings"]
    assert isinstance(warnings, list)
    return {warning["code"] for warning in warnings}


def device(root: Path, index: int) -> Path:
    return root / f"sys/bus/pci/devices/0000:{0x10 + index:02x}:00.0"


def test_a_sound_tree_gives_every_gpu_with_its_neighbourhood(hw_root: Path) -> None:
    slots = slots_of(hw_root)
    assert [slot["slot_index"] for slot in slots] == [0, 1, 2, 3]
    assert [slot["numa_node"] for slot in slots] == [0, 0, 1, 1]
    assert [slot["nvlink_group"] for slot in slots] == [0, 0, 1, 1]
    assert [slot["nvme_device"] for slot in slots] == [f"/dev/nvme{n}n1" for n in range(4)]
    assert codes_of(hw_root) == set()


def test_the_host_has_as_many_cpus_as_its_numa_nodes_say(hw_root: Path) -> None:
    host = discover(hw_root)["host"]
    assert isinstance(host, dict)
    assert host["cpus"] == 16
    assert host["numa_nodes"] == [
        {"node": 0, "cpulist": "0-7"},
        {"node": 1, "cpulist": "8-15"},
    ]


def test_two_discoveries_of_one_host_are_equal(hw_root: Path) -> None:
    assert discover(hw_root) == discover(hw_root)


def test_a_gpu_that_the_driver_does_not_list_is_left_out_and_named(hw_root: Path) -> None:
    described = json.loads((hw_root / "nvml.json").read_text())
    del described["gpus"][1]
    (hw_root / "nvml.json").write_text(json.dumps(described))
    assert [slot["slot_index"] for slot in slots_of(hw_root)] == [0, 2, 3]
    warnings = discover(hw_root)["warnings"]
    assert isinstance(warnings, list)
    assert [w["path"] for w in warnings] == [str(device(hw_root, 1))]


@pytest.mark.parametrize("name", ["class", "vendor", "device"])
@pytest.mark.parametrize("content", [b"", b"zz", b"\xff\xfe\x00", b"0x" + b"9" * 5000])
def test_a_spoiled_file_leaves_out_its_gpu_and_keeps_the_others(hw_root: Path, name: str, content: bytes) -> None:
    (device(hw_root, 2) / name).write_bytes(content)
    assert len(slots_of(hw_root)) == 3
    assert codes_of(hw_root) & {
        "hw_value_malformed",
        "hw_file_unreadable",
        "gpu_not_on_bus",
    }


def test_a_pipe_in_place_of_a_file_does_not_hold_discovery(hw_root: Path) -> None:
    (device(hw_root, 0) / "class").unlink()
    os.mkfifo(device(hw_root, 0) / "class")
    assert len(slots_of(hw_root)) == 3
    assert "hw_file_unreadable" in codes_of(hw_root)


def test_a_file_that_is_a_folder_is_a_warning(hw_root: Path) -> None:
    (device(hw_root, 0) / "numa_node").unlink()
    (device(hw_root, 0) / "numa_node").mkdir()
    assert len(slots_of(hw_root)) == 4
    assert slots_of(hw_root)[0]["numa_node"] is None


def test_a_tree_with_nothing_in_it_has_no_slots(tmp_path: Path) -> None:
    assert slots_of(tmp_path) == []


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200), which=st.integers(0, 5))
def test_no_garbage_in_a_file_makes_discovery_fail(hw_root: Path, content: bytes, which: int) -> None:
    targets = [
        *(device(hw_root, 0) / name for name in ("class", "vendor", "device", "numa_node")),
        hw_root / "nvml.json",
        hw_root / "sys/devices/system/node/node0/cpulist",
    ]
    before = targets[which].read_bytes()
    try:
        targets[which].write_bytes(content)
        discover(hw_root)
    finally:
        targets[which].write_bytes(before)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["gpus", "uuid", "pci_address", "name", "memory_mib", "nvlink_peers"]),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=_json)
def test_no_json_in_place_of_the_driver_facts_makes_discovery_fail(hw_root: Path, value: object) -> None:
    (hw_root / "nvml.json").write_text(json.dumps(value))
    discover(hw_root)


def test_gpus_on_one_switch_are_one_group() -> None:
    gpus = {
        f"0000:{n:02x}:00.0": DriverGpu(f"0000:{n:02x}:00.0", f"GPU-{n}", "x", 1, peers=("0000:c4:00.0",))
        for n in range(8)
    }
    assert set(nvlink_groups(gpus).values()) == {0}


def test_a_gpu_without_a_partner_is_in_no_group() -> None:
    alone = DriverGpu("0000:01:00.0", "GPU-1", "x", 1, peers=("0000:c4:00.0",))
    assert nvlink_groups({alone.address: alone}) == {}


def test_both_spellings_of_a_pci_address_are_the_same() -> None:
    assert normal_address("00000000:1B:00.0") == normal_address("0000:1b:00.0") == "0000:1b:00.0"
    assert normal_address("../../etc") is None
