"""Names, addresses and paths of everything that a fleet puts on the machine.

All kernel objects have the prefix `glab-` and the fleet's number, so that a clean-up finds them by name alone, even if the
owner died before it wrote a record.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from gpuaas_lab.errors import LabError

PREFIX = "glab-"
RUN_DIR = Path("/run/gpuaas-lab")
DATA_DIR = Path("/var/lib/gpuaas-lab")
FLEETS_DIR = DATA_DIR / "fleets"
ROOTFS_DIR = DATA_DIR / "rootfs"
HARDWARE_DIR = DATA_DIR / "hardware"
LAYERS_DIR = DATA_DIR / "layers"
IMAGES_DIR = DATA_DIR / "images"
GUEST_DISKS_DIR = DATA_DIR / "guest-disks"

FIRST_NUMBER, LAST_NUMBER = 1, 250
FIRST_SLICE_OCTET, SLICES_PER_HOST = 64, 8
MAX_HOSTS = (254 - FIRST_SLICE_OCTET) // SLICES_PER_HOST
MAX_GPUS = 8

_OBJECT_NAME = re.compile(r"^glab-(\d{1,3})(?:-(\d{1,2}))?$")
_FLEET_NAME = re.compile(r"^[a-z][a-z0-9-]{0,31}$")


def fleet_number_of(object_name: str) -> int | None:
    """Return the number of the fleet to which an object (link, namespace, cgroup) belongs, if any."""
    match = _OBJECT_NAME.match(object_name)
    return int(match.group(1)) if match else None


def mac_of(address: str) -> str:
    """Return a fixed MAC address: a new one for a reused IP address would cause 10-35 s of stale ARP entries."""
    _, _, third, fourth = (int(part) for part in address.split("."))
    return f"02:77:00:00:{third:02x}:{fourth:02x}"


@dataclass(frozen=True)
class FleetLayout:
    name: str
    number: int
    host_count: int
    gpus_per_host: int

    def __post_init__(self) -> None:
        if not _FLEET_NAME.match(self.name):
            raise LabError(f"{self.name!r} is no fleet name: up to 32 of a-z, 0-9, -, a letter first")
        if not 1 <= self.host_count <= MAX_HOSTS:
            raise LabError(f"a fleet has 1 to {MAX_HOSTS} hosts, not {self.host_count}")
        if not 0 <= self.gpus_per_host <= MAX_GPUS:
            raise LabError(f"a host has 0 to {MAX_GPUS} GPUs, not {self.gpus_per_host}")

    @property
    def gateway(self) -> str:
        return f"10.77.{self.number}.254"

    @property
    def bridge_namespace(self) -> str:
        return f"{PREFIX}{self.number}"

    @property
    def gateway_link(self) -> str:
        return f"{PREFIX}{self.number}"

    @property
    def directory(self) -> Path:
        return FLEETS_DIR / self.name

    def hosts(self) -> "list[HostLayout]":
        return [HostLayout(self, index) for index in range(1, self.host_count + 1)]


@dataclass(frozen=True)
class HostLayout:
    fleet: FleetLayout
    index: int

    @property
    def name(self) -> str:
        return f"{self.fleet.name}-{self.index}"

    @property
    def address(self) -> str:
        return f"10.77.{self.fleet.number}.{self.index}"

    @property
    def slice_addresses(self) -> list[str]:
        first = FIRST_SLICE_OCTET + SLICES_PER_HOST * (self.index - 1)
        return [f"10.77.{self.fleet.number}.{first + i}" for i in range(SLICES_PER_HOST)]

    @property
    def namespace(self) -> str:
        return f"{PREFIX}{self.fleet.number}-{self.index}"

    @property
    def cgroup(self) -> str:
        return f"{PREFIX}{self.fleet.number}-{self.index}"

    @property
    def bridge_port(self) -> str:
        return f"port-{self.index}"

    @property
    def directory(self) -> Path:
        return self.fleet.directory / self.name

    @property
    def layer(self) -> Path:
        """The files that the lab wrote before the host's first boot."""
        return self.directory / "layer"

    @property
    def upper(self) -> Path:
        """The changes of the host itself since then."""
        return self.directory / "upper"

    @property
    def work(self) -> Path:
        return self.directory / "work"

    @property
    def root(self) -> Path:
        return self.directory / "root"

    @property
    def slices(self) -> Path:
        return self.directory / "slices"

    @property
    def plain_folders(self) -> Path:
        """Return the mounts over folders of the host that may not be on its overlay: one folder each, named by its path."""
        return self.directory / "plain"

    def plain_folder(self, path: str) -> Path:
        return self.plain_folders / quote(path, safe="")

    @property
    def console(self) -> Path:
        return self.directory / "console.log"
