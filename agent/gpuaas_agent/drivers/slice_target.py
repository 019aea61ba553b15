"""A slice as an inspection target: the agent inspects it from the host, through the kernel, never by its programs."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gpuaas_agent import durable
from gpuaas_agent.commands import Deadline
from gpuaas_agent.drivers.lab_slice import LabSlice
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host import mounts, ports, processes
from gpuaas_agent.host.confined_files import ConfinedFiles
from gpuaas_agent.host.mounts import Mount
from gpuaas_agent.host.processes import Process
from gpuaas_agent.host.revocations import revoked_serials
from gpuaas_agent.host.sshd import REVOKED

_UNIT_SUFFIXES = (".service", ".scope", ".socket", ".timer", ".mount")
_INVOCATION = "invocation:"


@dataclass(frozen=True)
class SliceBaseline:
    """The layers below the tenant's are the baseline of files; a snapshot at the first answer is that of running things."""

    slice_: LabSlice
    planted: tuple[str, ...] = ()

    def has_process(self, process: Process) -> bool:
        return process.likeness in self._live["processes"]

    def has_port(self, endpoint: str) -> bool:
        return endpoint in self._live["ports"]

    def has_unit(self, unit: str) -> bool:
        return unit in self._live["units"]

    def has_mount(self, mount: Mount) -> bool:
        return mount.label in self._live["mounts"]

    def has_path(self, path: str) -> bool:
        return path in self.planted or any(layer.exists(path) for layer in self._layers)

    def has_same_file(self, path: str) -> bool:
        now = ConfinedFiles(self.slice_.root).read(path)
        before = next((layer.read(path) for layer in self._layers if layer.exists(path)), None)
        return now is not None and now == before

    def has_user(self, name: str) -> bool:
        text = ConfinedFiles(self.slice_.layer).read("/etc/passwd") or b""
        return any(line.partition(b":")[0] == name.encode() for line in text.splitlines())

    @property
    def _layers(self) -> tuple[ConfinedFiles, ConfinedFiles]:
        return ConfinedFiles(self.slice_.layer), ConfinedFiles(self.slice_.config.slice_base)

    @cached_property
    def _live(self) -> dict[str, frozenset[str]]:
        """Return the stored snapshot. A slice of an older agent has none; then nothing that runs counts as known."""
        stored = durable.read_json(_baseline_path(self.slice_)) or {}
        names = ("processes", "ports", "units", "mounts")
        return {name: frozenset(_texts(stored.get(name))) for name in names}


@dataclass(frozen=True)
class SliceTarget:
    slice_: LabSlice
    deadline: Deadline
    planted: tuple[str, ...] = ()  # the platform's marker files

    @cached_property
    def baseline(self) -> SliceBaseline:
        return SliceBaseline(self.slice_, self.planted)

    @property
    def files(self) -> ConfinedFiles:
        """The files as the slice's first process sees them, including its mounts."""
        return ConfinedFiles(Path(f"/proc/{self._leader()}/root"))

    def processes(self) -> list[Process]:
        leader = self._leader()
        return [process for process in self._list_processes() if process.pid != leader]

    def ports(self) -> set[str]:
        return ports.listening(Path(f"/proc/{self._leader()}"))

    def units(self) -> set[str]:
        """Return units with a process, as the kernel reports them, and units that the slice's systemd started."""
        started = self.files.names("/run/systemd/units")
        return self.running_units() | {
            name.removeprefix(_INVOCATION) for name in started if name.startswith(_INVOCATION)
        }

    def running_units(self) -> set[str]:
        """Return units with a process, as the kernel reports them."""
        groups = (process.group.partition(self.slice_.unit)[2] for process in self._list_processes())
        return {part for group in groups for part in group.split("/") if part.endswith(_UNIT_SUFFIXES)}

    def mounts(self) -> list[Mount]:
        return mounts.stable(mounts.table(str(self._leader())), ("/run/user/",))

    def revoked_serials(self) -> list[tuple[int, int]]:
        return revoked_serials(self.slice_.layer / REVOKED, self.deadline)

    def remember(self) -> None:
        """Store the baseline once, at the first answer: a repeated provision must not record the tenant's processes."""
        if not _baseline_path(self.slice_).exists():
            live = {
                "processes": sorted(process.likeness for process in self.processes()),
                "ports": sorted(self.ports()),
                "units": sorted(self.units()),
                "mounts": sorted(mount.label for mount in self.mounts()),
            }
            durable.write_json(_baseline_path(self.slice_), live)

    def _list_processes(self) -> list[Process]:
        """Return processes in the slice's control group that are not in the host's own PID namespace, as nspawn is."""
        own = os.readlink("/proc/self/ns/pid")
        return [
            process
            for process in processes.snapshot()
            if self.slice_.name in process.group and _namespace(process.pid) not in ("", own)
        ]

    def _leader(self) -> int:
        for process in self._list_processes():
            if _inner_pid(process.pid) == "1":
                return process.pid
        raise TaskFailure(
            "slice_not_running",
            "The slice does not run, so it cannot be inspected",
            "Look at the slice's unit on the host, or release the allocation: the wipe is a proof as well.",
            retryable=True,
        )


def _baseline_path(slice_: LabSlice) -> Path:
    return slice_.folder / "baseline.json"


def _namespace(pid: int) -> str:
    with contextlib.suppress(OSError):
        return os.readlink(f"/proc/{pid}/ns/pid")
    return ""


def _inner_pid(pid: int) -> str:
    """Return the PID in the slice's namespace, and nothing for processes of nested containers."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("NSpid:"):
                numbers = line.split()[1:]
                return numbers[-1] if len(numbers) == 2 else ""
    return ""


def _texts(value: object) -> list[str]:
    return [str(entry) for entry in value] if isinstance(value, list) else []
