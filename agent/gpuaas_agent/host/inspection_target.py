"""What an inspection looks at: one allocation's processes, ports, units, mounts and files, now and before its tenant came.

A host and a slice each know how to look; the inspection does not care which of the two it is.
"""

from __future__ import annotations

from typing import Protocol

from gpuaas_agent.host.mounts import Mount
from gpuaas_agent.host.processes import Process
from gpuaas_agent.host.rooted import RootedFiles


class InspectionBaseline(Protocol):
    """What was there when the allocation became active, and so is nobody's leftover."""

    def has_process(self, process: Process) -> bool: ...

    def has_port(self, endpoint: str) -> bool: ...

    def has_unit(self, unit: str) -> bool: ...

    def has_mount(self, mount: Mount) -> bool: ...

    def has_path(self, path: str) -> bool: ...

    def has_same_file(self, path: str) -> bool:
        """It was there, and says the same now."""

    def has_user(self, name: str) -> bool: ...


class InspectionTarget(Protocol):
    @property
    def baseline(self) -> InspectionBaseline: ...

    @property
    def files(self) -> RootedFiles: ...

    def processes(self) -> list[Process]:
        """All that are not the kernel's, not the agent's, and not the place's own first process."""

    def ports(self) -> set[str]: ...

    def units(self) -> set[str]:
        """Units that are doing something, or failed at it."""

    def mounts(self) -> list[Mount]: ...

    def revoked_serials(self) -> list[tuple[int, int]]:
        """Ranges of certificate serials that the place's sshd refuses."""
