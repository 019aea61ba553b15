"""Verifies that a host is as it was before its tenant. A check that fails is not clean.

Limit: a tenant who was root shared the kernel with this agent and could have changed the kernel, the firmware, the agent
or its baseline. The baseline's digest is evidence that the server can compare.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuaas_agent.allocations import Marker
from gpuaas_agent.commands import Deadline
from gpuaas_agent.host import (
    agent_start,
    journal_files,
    kernel_state,
    manifest,
    marker,
    ports,
    processes,
    sshd,
    under_mounts,
    units,
    volatile_files,
)
from gpuaas_agent.host.baseline import AgentFolders, Baseline
from gpuaas_agent.host.checks import Check, Finding, NotExamined, check
from gpuaas_agent.host.programs import Programs
from gpuaas_agent.host.wipe import SCRATCH, is_run_leftover, scratch_leftovers

_ACCOUNT_FILES = ("/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "/etc/sudoers")
_ACCOUNT_FOLDERS = ("/etc/sudoers.d/", "/home/")
_CRON_FOLDERS = ("/etc/cron", "/etc/anacrontab", "/var/spool/cron/", "/var/spool/at/")


@dataclass
class Verifier:
    baseline: Baseline
    folders: AgentFolders
    planted: Marker | None
    deadline: Deadline
    provisioned: bool = True
    sent_digests: Mapping[str, str] = field(default_factory=dict)  # files whose content the platform sent
    journals: str = ""  # the ids of the journals that the wipe began

    def checks(self) -> list[Check]:
        before, now = self.baseline.files, manifest.scan(self.folders.excluded, like=self.baseline.files)
        difference = volatile_files.unexplained(
            before, now, manifest.compare(before, now), self.sent_digests
        ).describe()
        examined = len(now)
        return [
            check("marker", self._marker, "agent"),
            check("files", lambda: self._files(difference, examined)),
            check("users", lambda: self._users(difference)),
            check("processes", self._processes),
            check("ports", self._ports),
            check("authorized_keys", lambda: self._authorized_keys(difference, now)),
            check("crontabs", lambda: _those_under(difference, now, _CRON_FOLDERS)),
            check("mounts", self._mounts),
            check("units", self._units),
            check("kernel", self._kernel),
        ]

    def _marker(self) -> Finding:
        if self.planted is None and not self.provisioned:
            return 0, []  # released before its provision began here: only the baseline can be compared
        if self.planted is None:
            # A tenant who was root can delete the record; without it nothing is proven.
            return 0, ["there is no marker on record for this allocation"]
        return len(self.planted.paths), marker.still_there(self.planted)

    def _files(self, difference: list[str], examined: int) -> Finding:
        leftovers = [f"left {path}" for folder in SCRATCH for path in scratch_leftovers(folder)]
        leftovers += [f"left {path}" for path in self.folders.leftover_slices()]
        leftovers += [
            f"left /run/{name}"
            for name in set(os.listdir("/run")) - self.baseline.live.run_entries
            if is_run_leftover(name)
        ]
        leftovers += journal_files.faults(self.journals)
        return examined, difference + leftovers + sshd.SshFiles(sshd.ROOT).key_faults()

    def _users(self, difference: list[str]) -> Finding:
        paths = [
            line
            for line in difference
            if line.split(" ", 1)[1] in _ACCOUNT_FILES or line.split(" ", 1)[1].startswith(_ACCOUNT_FOLDERS)
        ]
        with open("/etc/passwd", encoding="utf-8", errors="replace") as file:
            return len(file.readlines()), paths

    def _processes(self) -> Finding:
        """Check all processes, including the first one and the agent, by the content of what they run."""
        left = processes.foreign(self.baseline.explains_process)
        running = processes.snapshot()
        replaced = Programs(self.baseline.files).find_replaced_programs(running)
        found = [process.describe() for process in left] + agent_start.faults()
        return len(running), found + [f"{process.describe()} {fault}" for process, fault in replaced]

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
        now = [mount.label for mount in self.folders.mount_points()]
        before = list(self.baseline.live.mounts)
        extra = []
        for label in now:
            if label in before:
                before.remove(label)
            else:
                extra.append(f"extra {label}")
        found = extra + [f"missing {label}" for label in before] + self._under_mounts()
        if not found and self.baseline.under_mounts is None:
            raise NotExamined("the baseline of an older agent does not have what is under mount points")
        return len(now), found

    def _under_mounts(self) -> list[str]:
        """Compare what is on disk under mount points. A file there is nobody's until the mount is gone."""
        if self.baseline.under_mounts is None:
            return []
        now = under_mounts.scan()
        return [f"under a mount: {line}" for line in manifest.compare(self.baseline.under_mounts, now).describe()]

    def _kernel(self) -> Finding:
        before = self.baseline.live.kernel
        if before is None:
            raise NotExamined("the baseline of an older agent has no kernel state")
        now = kernel_state.observe(self.deadline)
        found, unseen = kernel_state.differences(before, now), kernel_state.describe_unreadable_state(before)
        if unseen and not found:
            raise NotExamined(unseen)
        return len(now), found

    def _units(self) -> Finding:
        now = units.present(self.deadline)
        foreign = units.foreign(now, set(self.baseline.live.units), self.baseline.unit_files)
        files = units.files()
        added = sorted(
            path for path in files - self.baseline.unit_files if not path.startswith("/run/systemd/transient/gpuaas-")
        )
        found = foreign + [f"added {path}" for path in added]
        before, run_files = self.baseline.run_files, units.run_files()
        if before is None and not found:
            raise NotExamined("the baseline of an older agent does not have the content of files in /run")
        if before is not None:
            found += [line for line in units.run_differences(before, run_files) if line not in found]
        return len(now) + len(files | run_files.keys()), found


def _those_under(difference: list[str], now: manifest.Manifest, folders: tuple[str, ...]) -> Finding:
    """Return the differences in folders of the manifest. A folder that the manifest leaves out would look clean for ever."""
    excluded = tuple(f"{path}/" for path in manifest.EXCLUDED)
    unseen = [folder for folder in folders if f"{folder.rstrip('/')}/".startswith(excluded)]
    if unseen:
        raise ValueError(f"the manifest has no files in {', '.join(unseen)}")
    found = [line for line in difference if line.split(" ", 1)[1].startswith(folders)]
    return sum(path.startswith(folders) for path in now), found
