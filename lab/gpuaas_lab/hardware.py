"""Simulated hardware of a host, at the interface that software uses: a sysfs tree and the facts of NVML.

The files have the kernel's own formats. GPUs 0-3 are on NUMA node 0 and linked by NVLink, GPUs 4-7 on node 1.
"""

import json
import uuid
from dataclasses import dataclass, field
from pathlib import Path

GPU_MODEL = "NVIDIA H100 80GB HBM3"
GPU_MEMORY_MIB = 81559
GPU_BUSES = (0x18, 0x2A, 0x3A, 0x5D, 0x9A, 0xAB, 0xBA, 0xDB)
GPUS_PER_GROUP = 4
NIC_BUS, NIC_VIRTUAL_FUNCTIONS = 0x29, 4
CPULISTS = ("0-31,64-95", "32-63,96-127")
NODE_MEMORY_KIB = 1_056_784_384
# How the kernel marks memory: 64 bits wide and prefetchable, or plain.
_BAR_FLAGS, _SMALL_BAR_FLAGS = 0x14220C, 0x40200
_RESOURCE_LINES = 13  # six BARs, the ROM, six BARs of virtual functions


@dataclass(frozen=True)
class PciFunction:
    address: str
    root_port: str
    vendor: int
    device: int
    class_code: int
    numa_node: int
    driver: str
    iommu_group: int
    bars: tuple[tuple[int, int], ...] = ()
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        return f"devices/pci0000:{self.root_port}/{self.address}"


@dataclass(frozen=True)
class Gpu:
    index: int
    uuid: str
    serial: str
    pci: PciFunction

    @property
    def group(self) -> str:
        return "ab"[self.index // GPUS_PER_GROUP]


def write_hardware(root: Path, host_name: str, gpu_count: int) -> None:
    """`sys/` and `nvml.json` below `root`; the same host name gives the same serial numbers.

    sys/devices/pci0000:BB/0000:XX:00.0/   one folder a PCI function, with links to driver and IOMMU group
    sys/bus/pci/devices/0000:XX:00.0 →     the functions by address
    sys/class/nvme/nvmeN →                 drives, one a GPU, behind the same root port
    sys/kernel/iommu_groups/G/devices/     one group a function
    sys/devices/system/node/nodeN/         cpulist, meminfo, distance
    nvml.json                              {"driver_version", "gpus": [{"index", "uuid", "name", "pci_address", …}]}
    A BlueField-3 with virtual functions is on the bus only: the host's network card is a real one.
    """
    write_model(root, gpu_count)
    write_serial_numbers(root, host_name, gpu_count)


def write_model(root: Path, gpu_count: int) -> None:
    """Write what all hosts of this model share."""
    sysfs = root / "sys"
    for index in range(gpu_count):
        _write_function(sysfs, _gpu_function(index))
        _write_drive(sysfs, index)
    for function in _nic():
        _write_function(sysfs, function)
    _link_virtual_functions(sysfs)
    _write_numa(sysfs)


def write_serial_numbers(root: Path, host_name: str, gpu_count: int) -> None:
    """Write what differs between hosts."""
    gpus = [_gpu(host_name, index) for index in range(gpu_count)]
    for index in range(gpu_count):
        serial = uuid.uuid5(uuid.NAMESPACE_DNS, f"{host_name}/nvme{index}").hex[:14].upper()
        _write(root / "sys" / _controller(index) / "serial", serial)
    root.mkdir(parents=True, exist_ok=True)
    (root / "nvml.json").write_text(json.dumps(_nvml(gpus), indent=2) + "\n")


def _gpu(host_name: str, index: int) -> Gpu:
    seed = uuid.uuid5(uuid.NAMESPACE_DNS, f"{host_name}/gpu{index}")
    serial = f"16{seed.int % 10**11:011d}"
    return Gpu(index, f"GPU-{seed}", serial, _gpu_function(index))


def _gpu_function(index: int) -> PciFunction:
    bus = GPU_BUSES[index]
    base = 0x2000_0000_0000 + (index << 40)
    return PciFunction(
        address=f"0000:{bus:02x}:00.0",
        root_port=f"{bus - 1:02x}",
        vendor=0x10DE,
        device=0x2330,
        class_code=0x030200,
        numa_node=index // GPUS_PER_GROUP,
        driver="nvidia",
        iommu_group=10 + index,
        bars=((base, 64 << 20), (0, 0), (base + (1 << 37), 128 << 30)),
        extra={
            "revision": "0xa1",
            "sriov_totalvfs": "16",
            "sriov_numvfs": "0",
            "reset_method": "flr bus",
            "current_link_speed": "32.0 GT/s PCIe",
            "current_link_width": "16",
        },
    )


def _nic() -> list[PciFunction]:
    physical = {
        "sriov_totalvfs": "16",
        "sriov_numvfs": str(NIC_VIRTUAL_FUNCTIONS),
        "revision": "0x01",
    }
    found = []
    for number in range(NIC_VIRTUAL_FUNCTIONS + 1):
        slot = 0 if number == 0 else number + 1  # .1 is the second port's place
        found.append(
            PciFunction(
                address=f"0000:{NIC_BUS:02x}:00.{slot}",
                root_port=f"{NIC_BUS - 1:02x}",
                vendor=0x15B3,
                device=0xA2DC if number == 0 else 0x101E,
                class_code=0x020000,
                numa_node=0,
                driver="mlx5_core",
                iommu_group=30 + number,
                bars=((0x3000_0000_0000 + (number << 26), 32 << 20),),
                extra=physical if number == 0 else {},
            )
        )
    return found


def _link_virtual_functions(sysfs: Path) -> None:
    physical, *virtual = _nic()
    for number, function in enumerate(virtual):
        _link(sysfs / physical.folder / f"virtfn{number}", f"../{function.address}")
        _link(sysfs / function.folder / "physfn", f"../{physical.address}")


def _write_function(sysfs: Path, function: PciFunction) -> None:
    folder = sysfs / function.folder
    values = {
        "vendor": f"0x{function.vendor:04x}",
        "device": f"0x{function.device:04x}",
        "subsystem_vendor": f"0x{function.vendor:04x}",
        "subsystem_device": f"0x{function.device:04x}",
        "class": f"0x{function.class_code:06x}",
        "numa_node": str(function.numa_node),
        "local_cpulist": CPULISTS[function.numa_node],
        "driver_override": "(null)",
        "uevent": _uevent(function),
        "resource": _resource(function.bars),
        "enable": "1",
        **function.extra,
    }
    for name, value in values.items():
        _write(folder / name, value)
    group = f"kernel/iommu_groups/{function.iommu_group}"
    _link(sysfs / "bus/pci/devices" / function.address, f"../../../{function.folder}")
    _link(folder / "driver", f"../../../bus/pci/drivers/{function.driver}")
    _link(folder / "subsystem", "../../../bus/pci")
    _link(folder / "iommu_group", f"../../../{group}")
    _link(
        sysfs / "bus/pci/drivers" / function.driver / function.address,
        f"../../../../{function.folder}",
    )
    _link(sysfs / group / "devices" / function.address, f"../../../../{function.folder}")


def _uevent(function: PciFunction) -> str:
    vendor, device, code = function.vendor, function.device, function.class_code
    alias = (
        f"pci:v{vendor:08X}d{device:08X}sv{vendor:08X}sd{device:08X}"
        f"bc{code >> 16:02X}sc{code >> 8 & 0xFF:02X}i{code & 0xFF:02X}"
    )
    return "\n".join(
        [
            f"DRIVER={function.driver}",
            f"PCI_CLASS={code:X}",
            f"PCI_ID={vendor:04X}:{device:04X}",
            f"PCI_SUBSYS_ID={vendor:04X}:{device:04X}",
            f"PCI_SLOT_NAME={function.address}",
            f"MODALIAS={alias}",
        ]
    )


def _resource(bars: tuple[tuple[int, int], ...]) -> str:
    lines = [
        f"0x{start:016x} 0x{start + size - 1:016x} 0x{0x14220C:016x}" if size else f"0x{0:016x} 0x{0:016x} 0x{0:016x}"
        for start, size in bars
    ]
    lines += [f"0x{0:016x} 0x{0:016x} 0x{0:016x}"] * (_RESOURCE_LINES - len(lines))
    return "\n".join(lines)


def _drive_function(index: int) -> PciFunction:
    """Return the NVMe drive beside a GPU: the next bus number below the same root port."""
    gpu = _gpu_function(index)
    return PciFunction(
        address=f"0000:{GPU_BUSES[index] + 1:02x}:00.0",
        root_port=gpu.root_port,
        vendor=0x144D,
        device=0xA824,
        class_code=0x010802,
        numa_node=gpu.numa_node,
        driver="nvme",
        iommu_group=20 + index,
        bars=((0x1000_0000 + (index << 20), 16 << 10),),
    )


def _controller(index: int) -> str:
    return f"{_drive_function(index).folder}/nvme/nvme{index}"


def _write_drive(sysfs: Path, index: int) -> None:
    function = _drive_function(index)
    _write_function(sysfs, function)
    values = {
        "model": "SAMSUNG MZWLO3T8HCLS-00A07",
        "firmware_rev": "OPPA4B5Q",
        "transport": "pcie",
        "address": function.address,
        "state": "live",
        "numa_node": str(function.numa_node),
        f"nvme{index}n1/size": str(3_840_755_982_336 // 512),
    }
    for attribute, value in values.items():
        _write(sysfs / _controller(index) / attribute, value)
    _link(sysfs / _controller(index) / "device", f"../../../{function.address}")
    _link(sysfs / "class/nvme" / f"nvme{index}", f"../../{_controller(index)}")


def _write_numa(sysfs: Path) -> None:
    nodes = sysfs / "devices/system/node"
    _write(nodes / "online", "0-1")
    for node, cpulist in enumerate(CPULISTS):
        _write(nodes / f"node{node}" / "cpulist", cpulist)
        _write(nodes / f"node{node}" / "distance", "10 21" if node == 0 else "21 10")
        _write(nodes / f"node{node}" / "meminfo", f"Node {node} MemTotal:       {NODE_MEMORY_KIB} kB")


def _nvml(gpus: list[Gpu]) -> dict[str, object]:
    return {
        "driver_version": "550.54.15",
        "gpus": [
            {
                "index": gpu.index,
                "uuid": gpu.uuid,
                "name": GPU_MODEL,
                "pci_address": gpu.pci.address,
                "memory_mib": GPU_MEMORY_MIB,
                "numa_node": gpu.pci.numa_node,
                "serial": gpu.serial,
                "nvlink_group": gpu.group,
                "nvlink_peers": [peer.pci.address for peer in gpus if peer is not gpu and peer.group == gpu.group],
            }
            for gpu in gpus
        ],
    }


def _write(path: Path, value: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value + "\n")


def _link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
