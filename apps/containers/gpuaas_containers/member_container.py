"""One member's container: all that its document and its command are made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuaas_containers.container_secrets import ContainerSecret
from gpuaas_containers.gpu_devices import GpuDevices
from gpuaas_containers.names import MemberNames
from gpuaas_containers.profile import RuntimeProfile


@dataclass(frozen=True, slots=True)
class MemberContainer:
    names: MemberNames
    profile: RuntimeProfile
    reference: str  # of the image, by digest
    gpus: GpuDevices
    instance_id: str
    member_id: str
    title: str
    aliases: tuple[str, ...] = ()  # its names in a shared network
    hosts: tuple[tuple[str, str], ...] = ()  # names and addresses of services on other hosts
    secrets: Mapping[str, ContainerSecret] = field(default_factory=dict)  # by key
