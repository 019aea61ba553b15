"""The target of an inspection: an allocation's processes, ports, units, mounts and files, now and in its baseline.

A host and a slice implement it differently; the inspection works with both.
"""

from __future__ import annotations

from typing import Protocol

from gpuaas_agent.host.confined_files import ConfinedFiles
from gpuaas_agent.host.mounts import Mount
from gpuaas_agent.host.processes import Process


class InspectionBaseline(Protocol):
    """Holds what existed when the allocation became active, and is therefore not left behind by an app."""

    def has_process(self, process: Process) -> bool: ...

    def has_port(self, endpoint: str) -> bool: ...

    def has_unit(self, unit: str) -> bool: ...

    def has_mount(self, mount: Mount) -> bool: ...

    def has_path(self, path: str) -> bool: ...

    def has_same_file(self, path: str) -> bool:
        """Tell whether the file existed with the same content as now."""

    def has_user(self, name: str) -> bool: ...


class InspectionTarget(Protocol):
    @property
    def baseline(self) -> InspectionBaseline: ...

    @property
    def files(self) -> ConfinedFiles: ...

    def processes(self) -> list[Process]:
        """Return all processes except the kernel's, the agent's, and the target's first process."""

    def ports(self) -> set[str]: ...

    def units(self) -> set[str]:
        """Return units that are active or failed."""

    def mounts(self) -> list[Mount]: ...

    def revoked_serials(self) -> list[tuple[int, int]]:
        """Return the ranges of certificate serials that the target's sshd refuses."""
