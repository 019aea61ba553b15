"""Processors, memory and NUMA nodes of the host."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass

from gpuaas_agent.discovery.tree import HardwareTree

_NODE = re.compile(r"^node(\d{1,4})$")
_CPULIST = re.compile(r"^[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?){0,30}$")
_NODE_MEMORY = re.compile(r"MemTotal:\s+(\d{1,15}) kB")


@dataclass(frozen=True)
class NumaNode:
    node: int
    cpulist: str
    memory_mib: int | None


def find_numa_nodes(tree: HardwareTree) -> list[NumaNode]:
    folder = tree.sys("devices", "system", "node")
    found = []
    for name in tree.names(folder):
        match = _NODE.match(name)
        if match is None:
            continue
        path = folder / name / "cpulist"
        cpulist = tree.text(path)
        if cpulist is None:
            continue
        if cpulist and not _CPULIST.match(cpulist):
            tree.warn("numa_cpulist_malformed", path, f"{cpulist[:40]!r} is not a CPU list")
            continue
        memory = _NODE_MEMORY.search(tree.text(folder / name / "meminfo", optional=True) or "")
        found.append(NumaNode(int(match[1]), cpulist, int(memory[1]) // 1024 if memory else None))
    return sorted(found, key=lambda node: node.node)


def host_facts(tree: HardwareTree) -> dict[str, object]:
    nodes = find_numa_nodes(tree)
    counted = sum(_count(node.cpulist) for node in nodes)
    memories = [node.memory_mib for node in nodes]
    described = bool(nodes) and all(memory is not None for memory in memories)
    return {
        "cpus": counted or os.cpu_count() or 1,
        "memory_mib": sum(m or 0 for m in memories) if described else _memory_mib(),
        "kernel": platform.release(),
        "numa_nodes": [{"node": node.node, "cpulist": node.cpulist} for node in nodes],
    }


def _count(cpulist: str) -> int:
    total = 0
    for part in filter(None, cpulist.split(",")):
        first, _, last = part.partition("-")
        total += max(0, int(last or first) - int(first) + 1)
    return total


def _memory_mib() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1 << 20)
