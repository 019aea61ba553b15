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
    slurm_version: str  # of the daemons, as they say it; empty while there are none
    package_version: str


async def facts_of(host: Host) -> Facts:
    return facts_in(await ask(host, "facts", {}))


def facts_in(told: Mapping[str, object]) -> Facts:
    devices = told["gpu_devices"]
    return Facts(
        hostname=str(told["hostname"]),
        cgroup=str(told["cgroup"]),
        gpu_devices=tuple(str(one) for one in devices) if isinstance(devices, list) else (),
        slurm_version=str(told["slurm_version"]),
        package_version=str(told["package_version"]),
    )
