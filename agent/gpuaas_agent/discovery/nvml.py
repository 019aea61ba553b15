"""Reads the driver's facts about each GPU: name, uuid, memory, NVLink peers.

Real hosts answer through libnvidia-ml; a hardware tree may carry the same facts in `nvml.json`.
"""

from __future__ import annotations

import ctypes
import json
import re
from dataclasses import dataclass, field

from gpuaas_agent.discovery.pci import normal_address
from gpuaas_agent.discovery.tree import HardwareTree

_MAX_LINKS = 18
_WORD = re.compile(r"^[ -~]{1,100}$")


@dataclass(frozen=True)
class DriverGpu:
    address: str
    uuid: str
    name: str
    memory_mib: int
    numa_node: int | None = None
    peers: tuple[str, ...] = field(default=())


def read_gpus(tree: HardwareTree, *, real: bool) -> dict[str, DriverGpu]:
    described = tree.root / "nvml.json"
    text = tree.text(described, optional=True)
    if text is not None:
        return _from_text(tree, text)
    return _from_library(tree) if real else {}


def _from_text(tree: HardwareTree, text: str) -> dict[str, DriverGpu]:
    path = tree.root / "nvml.json"
    try:
        entries = json.loads(text)["gpus"]
        if not isinstance(entries, list):
            raise ValueError("gpus is not a list")
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        tree.warn("nvml_malformed", path, f"cannot be read: {problem}")
        return {}
    found: dict[str, DriverGpu] = {}
    for index, entry in enumerate(entries):
        try:
            gpu = _entry(entry)
        except (ValueError, KeyError, TypeError) as problem:
            tree.warn("nvml_gpu_malformed", path, f"gpus[{index}]: {problem}")
            continue
        if gpu.address in found:
            tree.warn("nvml_gpu_twice", path, f"gpus[{index}]: {gpu.address} is named twice")
            continue
        found[gpu.address] = gpu
    return found


def _entry(entry: dict[str, object]) -> DriverGpu:
    address = normal_address(str(entry["pci_address"]))
    memory, numa, peers = entry["memory_mib"], entry.get("numa_node"), entry.get("nvlink_peers")
    if address is None:
        raise ValueError("pci_address is not a PCI address")
    if not isinstance(memory, int) or isinstance(memory, bool) or not 0 < memory < 1 << 31:
        raise ValueError("memory_mib is not a positive number")
    uuid, name = entry["uuid"], entry["name"]
    if not isinstance(uuid, str) or not isinstance(name, str):
        raise ValueError("uuid or name is not text")
    if not _WORD.match(uuid) or not _WORD.match(name):
        raise ValueError("uuid or name is not a short printable word")
    if peers is not None and not isinstance(peers, list):
        raise ValueError("nvlink_peers is not a list")
    known = (normal_address(str(peer)) for peer in peers or [])
    return DriverGpu(
        address=address,
        uuid=uuid,
        name=name,
        memory_mib=memory,
        numa_node=numa if type(numa) is int and 0 <= numa < 1024 else None,
        peers=tuple(peer for peer in known if peer is not None),
    )


def nvlink_groups(gpus: dict[str, DriverGpu]) -> dict[str, int]:
    """Return the connected components of two or more GPUs, numbered in the order of their lowest address.

    A peer that is not a GPU is a switch; GPUs that are connected to the same switch are in one group.
    """
    neighbours: dict[str, set[str]] = {address: set() for address in gpus}
    for gpu in gpus.values():
        for peer in gpu.peers:
            neighbours[gpu.address].add(peer)
            neighbours.setdefault(peer, set()).add(gpu.address)
    groups: dict[str, int] = {}
    seen: set[str] = set()
    number = 0
    for address in sorted(gpus):
        if address in seen:
            continue
        component = _component(address, neighbours)
        seen |= component
        members = component & set(gpus)
        if len(members) > 1:
            groups.update(dict.fromkeys(members, number))
            number += 1
    return groups


def _component(start: str, neighbours: dict[str, set[str]]) -> set[str]:
    component: set[str] = set()
    waiting = [start]
    while waiting:
        current = waiting.pop()
        if current not in component:
            component.add(current)
            waiting.extend(neighbours[current])
    return component


class _PciInfo(ctypes.Structure):
    _fields_ = (
        ("busIdLegacy", ctypes.c_char * 16),
        ("domain", ctypes.c_uint),
        ("bus", ctypes.c_uint),
        ("device", ctypes.c_uint),
        ("pciDeviceId", ctypes.c_uint),
        ("pciSubSystemId", ctypes.c_uint),
        ("busId", ctypes.c_char * 32),
    )


class _Memory(ctypes.Structure):
    _fields_ = (
        ("total", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    )


def _from_library(tree: HardwareTree) -> dict[str, DriverGpu]:
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return {}
    path = tree.root / "libnvidia-ml.so.1"
    if library.nvmlInit_v2() != 0:
        tree.warn("nvml_unavailable", path, "nvmlInit_v2 was refused")
        return {}
    try:
        count = ctypes.c_uint()
        if library.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
            tree.warn("nvml_unavailable", path, "nvmlDeviceGetCount_v2 was refused")
            return {}
        found = (_library_gpu(tree, library, index) for index in range(count.value))
        return {gpu.address: gpu for gpu in found if gpu is not None}
    finally:
        library.nvmlShutdown()


def _library_gpu(tree: HardwareTree, library: ctypes.CDLL, index: int) -> DriverGpu | None:
    device, pci, memory = ctypes.c_void_p(), _PciInfo(), _Memory()
    name, uuid = ctypes.create_string_buffer(96), ctypes.create_string_buffer(96)
    answers = (
        library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)),
        library.nvmlDeviceGetPciInfo_v3(device, ctypes.byref(pci)),
        library.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory)),
        library.nvmlDeviceGetName(device, name, 96),
        library.nvmlDeviceGetUUID(device, uuid, 96),
    )
    address = normal_address(pci.busId.decode(errors="replace"))
    if any(answers) or address is None:
        tree.warn("nvml_gpu_unreadable", tree.root / f"nvml/{index}", f"answers {answers}")
        return None
    return DriverGpu(
        address=address,
        uuid=uuid.value.decode(errors="replace"),
        name=name.value.decode(errors="replace"),
        memory_mib=memory.total // (1 << 20),
        peers=tuple(_library_peers(library, device)),
    )


def _library_peers(library: ctypes.CDLL, device: ctypes.c_void_p) -> list[str]:
    """Return the remote ends of the NVLinks: other GPUs, or the switches between them."""
    peers = []
    for link in range(_MAX_LINKS):
        active, remote = ctypes.c_uint(), _PciInfo()
        if library.nvmlDeviceGetNvLinkState(device, link, ctypes.byref(active)) != 0:
            continue
        if not active.value:
            continue
        if library.nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, ctypes.byref(remote)) != 0:
            continue
        address = normal_address(remote.busId.decode(errors="replace"))
        if address is not None:
            peers.append(address)
    return sorted(set(peers))
