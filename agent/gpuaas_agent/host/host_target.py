"""A bare-metal host as an inspection target, with the baseline from before its tenant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gpuaas_agent.commands import Deadline
from gpuaas_agent.host import manifest, mounts, ports, processes, units
from gpuaas_agent.host.baseline import AgentFolders, Baseline
from gpuaas_agent.host.confined_files import ConfinedFiles
from gpuaas_agent.host.mounts import Mount
from gpuaas_agent.host.processes import Process
from gpuaas_agent.host.revocations import revoked_serials
from gpuaas_agent.host.sshd import REVOKED, ROOT


@dataclass(frozen=True)
class HostBaseline:
    """`provisioned`: paths that the platform itself created for the tenant, after the baseline was recorded."""

    baseline: Baseline
    blobs: Path
    provisioned: frozenset[str] = frozenset()

    def has_process(self, process: Process) -> bool:
        return self.baseline.explains_process(process)

    def has_port(self, endpoint: str) -> bool:
        return endpoint in self.baseline.live.ports

    def has_unit(self, unit: str) -> bool:
        return not units.foreign({unit}, set(self.baseline.live.units), self.baseline.unit_files)

    def has_mount(self, mount: Mount) -> bool:
        return mount.label in self.baseline.live.mounts

    def has_path(self, path: str) -> bool:
        """Tell whether the path existed. The manifest has no files of /run and scratch folders; the folders always exist."""
        folder, _, name = path.rpartition("/")
        if (
            path in self.provisioned
            or path in manifest.EXCLUDED
            or (folder == "/run" and name in self.baseline.live.run_entries)
        ):
            return True
        return path in self.baseline.files or path in self.baseline.unit_files

    def has_same_file(self, path: str) -> bool:
        before, now = self.baseline.files.get(path), manifest.read(path)
        return before is not None and now is not None and before.same_as(now)

    def has_user(self, name: str) -> bool:
        return name in self._users

    @cached_property
    def _users(self) -> frozenset[str]:
        entry = self.baseline.files.get("/etc/passwd")
        if entry is None:
            raise ValueError("the baseline has no accounts")
        text = (self.blobs / entry.content).read_text(errors="replace")
        return frozenset(line.partition(":")[0] for line in text.splitlines())


@dataclass(frozen=True)
class HostTarget:
    baseline: HostBaseline
    folders: AgentFolders
    deadline: Deadline

    @property
    def files(self) -> ConfinedFiles:
        return ConfinedFiles(ROOT)

    def processes(self) -> list[Process]:
        return processes.others()

    def ports(self) -> set[str]:
        return ports.listening()

    def units(self) -> set[str]:
        return units.present(self.deadline)

    def mounts(self) -> list[Mount]:
        return mounts.stable(mounts.table(), (*self.folders.excluded, "/run/netns", "/run/user/"))

    def revoked_serials(self) -> list[tuple[int, int]]:
        return revoked_serials(ROOT / REVOKED, self.deadline)
