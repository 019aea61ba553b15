"""The pretended hardware has the formats of the real one."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from gpuaas_lab.hardware import write_hardware

_GPU, _NVME, _NIC = "0x030200", "0x010802", "0x020000"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_hardware(tmp_path, "host-1", 8)
    return tmp_path


def devices(root: Path, class_code: str) -> list[Path]:
    found = sorted((root / "sys/bus/pci/devices").iterdir())
    return [device for device in found if (device / "class").read_text().strip() == class_code]


def driver_gpus(root: Path) -> list[dict[str, Any]]:
    found = json.loads((root / "nvml.json").read_text())["gpus"]
    assert isinstance(found, list)
    return found


def test_every_gpu_on_the_bus_is_known_to_the_driver(root: Path) -> None:
    on_bus = [device.name for device in devices(root, _GPU)]
    assert on_bus == [gpu["pci_address"] for gpu in driver_gpus(root)]
    assert {gpu["name"] for gpu in driver_gpus(root)} == {"NVIDIA H100 80GB HBM3"}
    assert {gpu["memory_mib"] for gpu in driver_gpus(root)} == {81559}


def test_links_of_a_device_lead_back_to_it(root: Path) -> None:
    for device in (root / "sys/bus/pci/devices").iterdir():
        assert re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", device.name)
        group = (device / "iommu_group").resolve(strict=True)
        assert group.name.isdigit()
        assert (group / "devices" / device.name).resolve(strict=True) == device.resolve(strict=True)
        driver = (device / "driver").resolve(strict=True)
        assert (driver / device.name).resolve(strict=True) == device.resolve(strict=True)


def test_device_files_have_the_kernels_formats(root: Path) -> None:
    for device in (root / "sys/bus/pci/devices").iterdir():
        assert re.fullmatch(r"0x[0-9a-f]{4}\n", (device / "vendor").read_text())
        assert re.fullmatch(r"0x[0-9a-f]{6}\n", (device / "class").read_text())
        assert (device / "numa_node").read_text() in ("0\n", "1\n")
        resource = (device / "resource").read_text().splitlines()
        assert len(resource) == 13
        assert all(re.fullmatch(r"(0x[0-9a-f]{16} ?){3}", line) for line in resource)


def test_memory_windows_of_devices_do_not_overlap(root: Path) -> None:
    windows = []
    for device in (root / "sys/bus/pci/devices").iterdir():
        for line in (device / "resource").read_text().splitlines():
            start, end, _ = (int(value, 16) for value in line.split())
            if end:
                windows.append((start, end))
    windows.sort()
    assert all(first[1] < second[0] for first, second in itertools.pairwise(windows))


def test_each_gpu_has_a_drive_behind_the_same_root_complex(root: Path) -> None:
    complexes = {device.resolve().parts[-2] for device in devices(root, _GPU)}
    drives = {device.resolve().parts[-2] for device in devices(root, _NVME)}
    assert complexes == drives
    assert len(drives) == 8
    for drive in (root / "sys/class/nvme").iterdir():
        assert (drive / f"{drive.name}n1/size").read_text().strip().isdigit()


def test_nvlink_and_numa_split_the_host_in_halves(root: Path) -> None:
    gpus = driver_gpus(root)
    addresses = [gpu["pci_address"] for gpu in gpus]
    for index, gpu in enumerate(gpus):
        half = addresses[:4] if index < 4 else addresses[4:]
        assert sorted(gpu["nvlink_peers"]) == sorted(set(half) - {gpu["pci_address"]})
        assert gpu["numa_node"] == (0 if index < 4 else 1)


def test_the_network_card_has_virtual_functions(root: Path) -> None:
    physical, *virtual = devices(root, _NIC)
    assert int((physical / "sriov_numvfs").read_text()) == len(virtual) > 0
    assert {(device / "physfn").resolve().name for device in virtual} == {physical.name}
    linked = {(physical / f"virtfn{index}").resolve() for index in range(len(virtual))}
    assert linked == {device.resolve() for device in virtual}


def test_hosts_have_different_gpus_and_a_host_keeps_its_own(root: Path, tmp_path: Path) -> None:
    write_hardware(tmp_path / "again", "host-1", 8)
    write_hardware(tmp_path / "other", "host-2", 8)
    mine = {gpu["uuid"] for gpu in driver_gpus(root)}
    assert mine == {gpu["uuid"] for gpu in driver_gpus(tmp_path / "again")}
    assert not mine & {gpu["uuid"] for gpu in driver_gpus(tmp_path / "other")}
    assert all(re.fullmatch(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", uuid) for uuid in mine)


def test_a_host_without_gpus_has_none(tmp_path: Path) -> None:
    write_hardware(tmp_path, "bare", 0)
    assert devices(tmp_path, _GPU) == []
    assert driver_gpus(tmp_path) == []
