"""The two cgroup layouts of machines, and the differences between them for a host.

Slices inside a host need cgroups that the host may write, of version 1 or version 2, depending on the machine.
"""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

CGROUP_ROOT = Path("/sys/fs/cgroup")
REQUIRED_V1 = ("memory", "pids", "devices", "cpuset", "freezer")
WANTED_V2 = ("cpu", "memory", "pids")
PERIOD_MICROSECONDS = 20_000  # period of a host's CPU share: short, so that the host runs slowly instead of pausing


class CgroupLayout(Protocol):
    nspawn_setting: ClassVar[str]
    """The value of SYSTEMD_NSPAWN_UNIFIED_HIERARCHY."""

    @property
    def hierarchies(self) -> list[Path]: ...

    def create(self, name: str) -> None: ...

    def groups_of_commands(self, name: str, leader: int) -> list[Path]:
        """Return the groups for a command that runs inside a booted host."""
        ...

    def power_supply_groups(self, name: str) -> list[Path]:
        """Return the groups of the process that restarts the host, if it may not stay in the host's own group."""
        ...

    def boot_commands(self) -> list[str]:
        """Return commands that a host must run at boot so that its slices can have cgroups."""
        ...

    def hold(self, name: str, cores: float) -> None:
        """Limit the group to this share of the machine."""
        ...

    def problems(self) -> list[str]: ...


@dataclass(frozen=True)
class Hybrid:
    """Version 1 controllers, each with its own hierarchy, with or without version 2."""

    mounted: tuple[Path, ...]
    nspawn_setting: ClassVar[str] = "0"

    @property
    def hierarchies(self) -> list[Path]:
        """Return the hierarchies, the tracking one (`systemd`) first."""
        return sorted(self.mounted, key=lambda path: (path.name != "systemd", path.name))

    @property
    def _controllers(self) -> list[Path]:
        return [path for path in self.hierarchies if path.name not in ("systemd", "unified")]

    def create(self, name: str) -> None:
        for hierarchy in self.hierarchies:
            group = hierarchy / name
            group.mkdir(exist_ok=True)
            if (group / "cpuset.cpus").exists():
                # A cpuset group without processors and memory nodes refuses processes.
                for knob in ("cpuset.cpus", "cpuset.mems"):
                    (group / knob).write_text((hierarchy / knob).read_text())

    def groups_of_commands(self, name: str, leader: int) -> list[Path]:
        groups = [hierarchy / name for hierarchy in self.hierarchies]
        return [group / "payload" if (group / "payload").is_dir() else group for group in groups]

    def power_supply_groups(self, name: str) -> list[Path]:
        return []

    def boot_commands(self) -> list[str]:
        return [f"mount -o remount,bind,rw {path}" for path in self._controllers]

    def hold(self, name: str, cores: float) -> None:
        group = next(path for path in self.hierarchies if "cpu" in path.name.split(",")) / name
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_MICROSECONDS))
        (group / "cpu.cfs_quota_us").write_text(str(int(cores * PERIOD_MICROSECONDS)))

    def problems(self) -> list[str]:
        # Controllers may share a mount: its name then lists them.
        names = {part for path in self.mounted for part in path.name.split(",")}
        absent = [name for name in ("systemd", *REQUIRED_V1) if name not in names]
        if not absent:
            return []
        lacking = f"of cgroup version 1 these are not mounted below {CGROUP_ROOT}: {', '.join(absent)}"
        return [f"{lacking}. Boot with version 2 alone, as stock Debian 12 does: systemd.unified_cgroup_hierarchy=1"]


@dataclass(frozen=True)
class Unified:
    """Version 2 only, as in stock Debian 12: one tree; each host manages the part below its own group."""

    root: Path
    processes: Path = Path("/proc")
    nspawn_setting: ClassVar[str] = "1"

    @property
    def hierarchies(self) -> list[Path]:
        return [self.root]

    def create(self, name: str) -> None:
        self._offer_controllers()
        (self.root / name).mkdir(exist_ok=True)

    def _offer_controllers(self) -> None:
        """Enable controllers where the machine has them. Without them groups still separate hosts, but have no limits."""
        offered = (self.root / "cgroup.controllers").read_text().split()
        for controller in WANTED_V2:
            if controller in offered:
                # Refused if the machine itself is a container with processes in its top group.
                with contextlib.suppress(OSError):
                    (self.root / "cgroup.subtree_control").write_text(f"+{controller}")

    def groups_of_commands(self, name: str, leader: int) -> list[Path]:
        """Return the group of the host's PID 1: a group that contains groups may not contain processes."""
        with contextlib.suppress(OSError):
            for line in (self.processes / str(leader) / "cgroup").read_text().splitlines():
                if line.startswith(f"0::/{name}"):
                    return [self.root / line.removeprefix("0::/")]
        return [self.root / name]

    def power_supply_groups(self, name: str) -> list[Path]:
        """Return a separate group: a group that delegates controllers may not contain processes."""
        return [self.root / name / "power"]

    def boot_commands(self) -> list[str]:
        return []

    def hold(self, name: str, cores: float) -> None:
        (self.root / name / "cpu.max").write_text(f"{int(cores * PERIOD_MICROSECONDS)} {PERIOD_MICROSECONDS}")

    def problems(self) -> list[str]:
        if os.statvfs(self.root).f_flag & os.ST_RDONLY:
            return [f"{self.root} is mounted read-only: run `mount -o remount,rw {self.root}`"]
        return []


def find_layout() -> CgroupLayout | None:
    """Return the layout that this process sees; None if neither version is mounted."""
    if (CGROUP_ROOT / "cgroup.controllers").exists():
        return Unified(CGROUP_ROOT)
    mounted = []
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, mount_point, kind, *_ = line.split()
        if kind in ("cgroup", "cgroup2") and mount_point.startswith(f"{CGROUP_ROOT}/"):
            mounted.append(Path(mount_point))
    return Hybrid(tuple(mounted)) if mounted else None


def layout_problems() -> list[str]:
    layout = find_layout()
    if layout is not None:
        return layout.problems()
    lacking = f"no cgroups are mounted at {CGROUP_ROOT}, neither version 2 nor version 1"
    return [f"{lacking}: boot the machine with systemd, or run `mount -t cgroup2 none {CGROUP_ROOT}`"]
