"""The two ways in which machines mount their cgroups, and all that differs between them for a host.

Slices inside a host need cgroups that the host may write to: from version 1 or version 2, whichever the machine has.
"""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

CGROUP_ROOT = Path("/sys/fs/cgroup")
REQUIRED_V1 = ("memory", "pids", "devices", "cpuset", "freezer")
WANTED_V2 = ("cpu", "memory", "pids")
PERIOD_MICROSECONDS = 20_000  # in which a host gets its share: short, so that it is slow and not stopped


class CgroupLayout(Protocol):
    nspawn_setting: ClassVar[str]
    """The value of SYSTEMD_NSPAWN_UNIFIED_HIERARCHY."""

    @property
    def hierarchies(self) -> list[Path]: ...

    def create(self, name: str) -> None: ...

    def groups_of_commands(self, name: str, leader: int) -> list[Path]:
        """Where a command that is run inside a booted host belongs."""
        ...

    def boot_commands(self) -> list[str]:
        """What a host must run at boot so that slices inside it can have cgroups."""
        ...

    def hold(self, name: str, cores: float) -> None:
        """The group gets so much of the machine and no more."""
        ...

    def problems(self) -> list[str]: ...


@dataclass(frozen=True)
class Hybrid:
    """Version 1 controllers, each a hierarchy of its own, with or without version 2 beside them."""

    mounted: tuple[Path, ...]
    nspawn_setting: ClassVar[str] = "0"

    @property
    def hierarchies(self) -> list[Path]:
        """The tracking one (`systemd`) first."""
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
    """Version 2 only, as stock Debian 12 boots: one tree, managed from a host's group downwards by the host."""

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
        """Groups are enough to tell hosts apart; limits work too where the machine has the controllers."""
        offered = (self.root / "cgroup.controllers").read_text().split()
        for controller in WANTED_V2:
            if controller in offered:
                # Refused where the machine itself is a container with processes in its topmost group.
                with contextlib.suppress(OSError):
                    (self.root / "cgroup.subtree_control").write_text(f"+{controller}")

    def groups_of_commands(self, name: str, leader: int) -> list[Path]:
        """Beside the host's PID 1: the groups above it hold groups, and so may hold no process."""
        with contextlib.suppress(OSError):
            for line in (self.processes / str(leader) / "cgroup").read_text().splitlines():
                if line.startswith(f"0::/{name}"):
                    return [self.root / line.removeprefix("0::/")]
        return [self.root / name]

    def boot_commands(self) -> list[str]:
        return []

    def hold(self, name: str, cores: float) -> None:
        (self.root / name / "cpu.max").write_text(f"{int(cores * PERIOD_MICROSECONDS)} {PERIOD_MICROSECONDS}")

    def problems(self) -> list[str]:
        if os.statvfs(self.root).f_flag & os.ST_RDONLY:
            return [f"{self.root} is mounted read-only: run `mount -o remount,rw {self.root}`"]
        return []


def find_layout() -> CgroupLayout | None:
    """What this machine has, seen from this process; nothing when neither version is mounted."""
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
