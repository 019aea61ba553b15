"""Checks what processes really run: the content of their program and of every library that they map.

A service that was restarted from a replaced file has the same name, user and arguments, but another content.
Names and times of files prove nothing: a tenant who was root can set both.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from gpuaas_agent.host import manifest
from gpuaas_agent.host.processes import Process

_DELETED = " (deleted)"
_MAPPING = re.compile(r"^([0-9a-f]+-[0-9a-f]+) ..x. [0-9a-f]+ [0-9a-f]+:[0-9a-f]+ (\d+) +(.+)$")


@dataclass
class Programs:
    """Reads each file once, even if many processes run it."""

    files: manifest.Manifest
    _digests: dict[tuple[int, int], str] = field(default_factory=dict)

    def find_replaced_programs(self, processes: Iterable[Process]) -> list[tuple[Process, str]]:
        """Return (process, fault) for processes that run a file that the host did not have before."""
        found = []
        for process in processes:
            fault = "" if process.kernel else self.fault(process.pid)
            if fault:
                found.append((process, fault))
        return found

    def fault(self, pid: int) -> str:
        """Return the fault of a process; empty if all its code is unchanged, or if the process has ended."""
        try:
            shown = os.readlink(f"/proc/{pid}/exe")
        except (FileNotFoundError, ProcessLookupError):
            return ""  # it has ended, or it is a zombie
        fault = self._fault_of(shown, f"/proc/{pid}/exe")
        if fault:
            return fault
        for place, path in _mapped(pid):
            fault = self._fault_of(path, f"/proc/{pid}/map_files/{place}")
            if fault:
                return fault
        return ""

    def _fault_of(self, path: str, opened_by: str) -> str:
        if path.endswith(_DELETED):
            return f"runs {path.removesuffix(_DELETED)}, which was replaced or removed"
        known = self.files.get(path)
        if known is None or known.kind != "file":
            return f"runs {path}, which was not there before"
        digest = self._digest(opened_by)
        return "" if digest in (None, known.content) else f"runs {path}, which has another content"

    def _digest(self, path: str) -> str | None:
        """Return the digest of a mapped file; None if the process has ended."""
        try:
            with open(path, "rb", buffering=0) as file:
                status = os.fstat(file.fileno())
                key = (status.st_dev, status.st_ino)
                if key not in self._digests:
                    self._digests[key] = hashlib.file_digest(file, "sha256").hexdigest()
                return self._digests[key]
        except (FileNotFoundError, ProcessLookupError):
            return None


def _mapped(pid: int) -> list[tuple[str, str]]:
    """Return (range, path) of every executable mapping of a file."""
    with (
        contextlib.suppress(FileNotFoundError, ProcessLookupError),
        open(f"/proc/{pid}/maps", errors="replace") as file,
    ):
        rows = (_MAPPING.match(line.rstrip("\n")) for line in file)
        return [(row[1], row[3]) for row in rows if row is not None and row[2] != "0"]
    return []
