"""What a host says of itself: name, GPUs, control groups. Gathered once an operation."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuaas_sdk.controller import Host
from gpuaas_slurm.hostside import ask


@dataclass(frozen=True, slots=True)
class Facts:
    hostname: str
    cgroup: str  # v1, v2 or none: what jobs can be confined with
    gpu_devices: tuple[str, ...]
    slurm_version: str  # of the daemons, as they say it; empty while there are none, and where nobody asks
    package_version: str
    memory_bounds: bool = False  # whether jobs can be confined to an amount of it
    memory_mib: int = 0
    cpus: int = 1

    @property
    def memory_per_cpu(self) -> int:
        return max(1, self.memory_mib // max(1, self.cpus))


async def facts_of(host: Host) -> Facts:
    return facts_in(await ask(host, "facts", {"versions": True}))


def facts_in(told: Mapping[str, object]) -> Facts:
    devices = told["gpu_devices"]
    return Facts(
        hostname=str(told["hostname"]),
        cgroup=str(told["cgroup"]),
        gpu_devices=tuple(str(one) for one in devices) if isinstance(devices, list) else (),
        slurm_version=str(told["slurm_version"]),
        package_version=str(told["package_version"]),
        memory_bounds=told["memory_bounds"] is True,
        memory_mib=int(str(told["memory_mib"])),
        cpus=int(str(told["cpus"])),
    )
