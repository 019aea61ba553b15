"""Facts about a host: name, GPUs, control groups. They are read once in an operation."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuaas_sdk.controller import Host
from gpuaas_slurm.hostside import run_program


@dataclass(frozen=True, slots=True)
class Facts:
    hostname: str
    cgroup: str  # v1, v2 or none: how jobs can be confined
    gpu_devices: tuple[str, ...]
    slurm_version: str  # of the daemons; empty where none are installed or the version was not read
    package_version: str
    memory_bounds: bool = False  # whether the memory of jobs can be limited
    memory_mib: int = 0
    cpus: int = 1

    @property
    def memory_per_cpu(self) -> int:
        return max(1, self.memory_mib // max(1, self.cpus))


async def read_facts(host: Host) -> Facts:
    return parse_facts(await run_program(host, "facts", {"versions": True}))


def parse_facts(document: Mapping[str, object]) -> Facts:
    devices = document["gpu_devices"]
    return Facts(
        hostname=str(document["hostname"]),
        cgroup=str(document["cgroup"]),
        gpu_devices=tuple(str(one) for one in devices) if isinstance(devices, list) else (),
        slurm_version=str(document["slurm_version"]),
        package_version=str(document["package_version"]),
        memory_bounds=document["memory_bounds"] is True,
        memory_mib=int(str(document["memory_mib"])),
        cpus=int(str(document["cpus"])),
    )
