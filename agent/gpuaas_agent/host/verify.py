"""Looks whether a host is what it was. A check that cannot look is not clean.

Limit: a tenant who is root shares the kernel with this agent and could change kernel, firmware, the
agent itself or its baseline. The baseline's digest is evidence that the server can compare.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from gpuaas_agent.allocations import Marker
from gpuaas_agent.commands import Deadline
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host import manifest, marker, ports, processes, units
from gpuaas_agent.host.baseline import Baseline, Surroundings
from gpuaas_agent.host.wipe import SCRATCH, is_run_litter, scratch_litter

MOST_FINDINGS = 50
# What was looked at, and what should not have been there.
Finding = tuple[int, list[str]]

_ACCOUNT_FILES = ("/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "/etc/sudoers")
_ACCOUNT_FOLDERS = ("/etc/sudoers.d/", "/home/")
_CRON_FOLDERS = ("/etc/cron", "/etc/anacrontab", "/var/spool/cron/", "/var/spool/at/")


@dataclass(frozen=True)
class Check:
    name: str
    clean: bool
    found: list[str]
    examined: int
    detail: str = ""

    def wire(self) -> dict[str, object]:
        told: dict[str, object] = {
            "name": self.name,
            "clean": self.clean,
            "found": self.found,
            "examined": self.examined,
        }
        return told | ({"detail": self.detail} if self.detail else {})


def check(name: str, look: Callable[[], Finding]) -> Check:
    """Run one look. The list is bounded, with a last line that says how many there are."""
    try:
        examined, found = look()
    except (OSError, ValueError, TaskFailure) as problem:
        return Check(name, False, [f"could not look: {problem}"[:300]], 0)
    listed = [line[:300] for line in found[:MOST_FINDINGS]]
    if len(found) > MOST_FINDINGS:
        listed.append(f"… {len(found)} in all")
    return Check(name, not found, listed, examined)


@dataclass
class Verifier:
    baseline: Baseline
    surroundings: Surroundings
    planted: Marker | None
    deadline: Deadline
    provisioned: bool = True

    def checks(self) -> list[Check]:
        now = manifest.scan(self.surroundings.excluded)
        difference = manifest.compare(self.baseline.files, now).describe()
        examined = len(now)
        return [
            check("marker", self._marker),
            check("files", lambda: self._files(difference, examined)),
            check("users", lambda: self._users(difference)),
            check("processes", self._processes),
            check("ports", self._ports),
            check("authorized_keys", lambda: self._authorized_keys(difference, now)),
            check("crontabs", lambda: _those_under(difference, now, _CRON_FOLDERS)),
            check("mounts", self._mounts),
            check("units", self._units),
        ]

    def _marker(self) -> Finding:
        if self.planted is None and not self.provisioned:
            return 0, []  # released before anything was done here: the comparison with the baseline is all there is
        if self.planted is None:
            # A tenant who was root can delete the record: without it nothing is proven.
            return 0, ["no marker is remembered for this allocation"]
        return len(self.planted.paths), marker.still_there(self.planted)

    def _files(self, difference: list[str], examined: int) -> Finding:
        litter = [f"left {path}" for folder in SCRATCH for path in scratch_litter(folder)]
        litter += [f"left {path}" for path in self.surroundings.hidden()]
        litter += [
            f"left /run/{name}"
            for name in set(os.listdir("/run")) - self.baseline.live.run_entries
            if is_run_litter(name)
        ]
        return examined, difference + litter

    def _users(self, difference: list[str]) -> Finding:
        paths = [
            line
            for line in difference
            if line.split(" ", 1)[1] in _ACCOUNT_FILES or line.split(" ", 1)[1].startswith(_ACCOUNT_FOLDERS)
        ]
        with open("/etc/passwd", encoding="utf-8", errors="replace") as file:
            return len(file.readlines()), paths

    def _processes(self) -> Finding:
        left = processes.strangers(self.baseline.explains_process)
        return len(processes.snapshot()), [process.describe() for process in left]

    def _ports(self) -> Finding:
        now = ports.listening()
        return len(now), sorted(now - self.baseline.live.ports)

    def _authorized_keys(self, difference: list[str], now: manifest.Manifest) -> Finding:
        found = [line for line in difference if "authorized_keys" in line or "/.ssh/" in line]
        ours = "/etc/gpuaas/ssh"
        for folder in ("principals", "keys"):
            found += [f"left {ours}/{folder}/{name}" for name in os.listdir(f"{ours}/{folder}")]
        return sum("/.ssh" in path for path in now), found

    def _mounts(self) -> Finding:
        now = [mount.label for mount in self.surroundings.mount_points()]
        before = list(self.baseline.live.mounts)
        extra = []
        for label in now:
            if label in before:
                before.remove(label)
            else:
                extra.append(f"extra {label}")
        return len(now), extra + [f"missing {label}" for label in before]

    def _units(self) -> Finding:
        now = units.present(self.deadline)
        foreign = units.foreign(now, set(self.baseline.live.units), self.baseline.unit_files)
        files = units.files()
        added = sorted(
            path for path in files - self.baseline.unit_files if not path.startswith("/run/systemd/transient/gpuaas-")
        )
        return len(now) + len(files), foreign + [f"added {path}" for path in added]


def _those_under(difference: list[str], now: manifest.Manifest, folders: tuple[str, ...]) -> Finding:
    found = [line for line in difference if line.split(" ", 1)[1].startswith(folders)]
    return sum(path.startswith(folders) for path in now), found


def wire(checks: list[Check]) -> dict[str, object]:
    return {
        "clean": all(entry.clean for entry in checks),
        "checks": [entry.wire() for entry in checks],
    }
