"""Restores a host to its baseline: removes what was added, restores what was changed or removed.

The wipe proves nothing itself; `verify` checks the host afterwards with separate code.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpuaas_agent import commands, log
from gpuaas_agent.commands import Deadline
from gpuaas_agent.host import (
    journal_files,
    kernel_state,
    manifest,
    mounts,
    processes,
    under_mounts,
    units,
    volatile_files,
)
from gpuaas_agent.host.baseline import AgentFolders, Baseline
from gpuaas_agent.host.programs import Programs
from gpuaas_agent.host.removal import clear_flags, entries_of, remove, retry_unlocked

SCRATCH = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108


@dataclass
class Wiper:
    baseline: Baseline
    folders: AgentFolders
    blobs: Path
    golden_root: Path | None
    removed: int = 0
    restored: int = 0
    journals: str = ""  # the ids of the journals that the wipe began
    sent_digests: Mapping[str, str] = field(default_factory=dict)  # files whose content the platform sent

    def unmount_extra(self, deadline: Deadline) -> str:
        expected = list(self.baseline.live.mounts)
        extra = []
        for mount in self.folders.mount_points():
            if mount.label in expected:
                expected.remove(mount.label)
            else:
                extra.append(mount)
        for mount in reversed(extra):
            self.removed += mounts.unmount(mount.point, deadline)
        return f"{len(extra)} extra mounts"

    def restore_files(self) -> str:
        difference = self._restore_difference()
        self._restore_under_mounts()
        added, changed = len(difference.added), len(difference.changed)
        return f"{added} added, {changed} changed, {len(difference.removed)} removed by the tenant"

    def restore_stopped(self) -> list[str]:
        """Restore the files again, and return what still differs then. Nobody else may write meanwhile."""
        difference = self._restore_difference()
        paths = difference.added + difference.changed + difference.removed
        before = {path: self.baseline.files[path] for path in paths if path in self.baseline.files}
        now = {path: entry for path in paths if (entry := manifest.read(path)) is not None}
        left = self._unexplained(before, now).describe()
        if self._restore_under_mounts():
            left += manifest.compare(self.baseline.under_mounts or {}, under_mounts.scan()).describe()
        return left

    def _restore_difference(self) -> manifest.Difference:
        """Restore what differs, and return what that was."""
        difference = self._unexplained(
            self.baseline.files, manifest.scan(self.folders.excluded, like=self.baseline.files)
        )
        # The deepest paths first, so that folders are empty when they are removed.
        for path in sorted(difference.added, key=len, reverse=True):
            self.removed += remove(path)
        for path in sorted(difference.changed + difference.removed, key=len):
            self.restored += self._restore(path, self.baseline.files[path])
        self._restore_times()
        return difference

    def _unexplained(self, before: manifest.Manifest, now: manifest.Manifest) -> manifest.Difference:
        return volatile_files.unexplained(before, now, manifest.compare(before, now), self.sent_digests)

    def _restore_under_mounts(self) -> int:
        """Remove what was left on disk under mount points. Content that was changed there is found by the verification.
        Returns how many entries differed.
        """
        before, found = self.baseline.under_mounts, 0
        if before is None:
            return found
        with under_mounts.opened() as folders:
            for folder in folders:
                if folder.point not in before:
                    continue  # a mount that came since: what it covers is the host's own
                now = folder.find()
                difference = manifest.compare(before, now)
                for path in sorted(difference.added, key=len, reverse=True):
                    self.removed += remove(folder.place + path.removeprefix(folder.point))
                for path in difference.changed:
                    self.restored += self._restore(folder.place + path.removeprefix(folder.point), before[path])
                found += len(difference.added) + len(difference.changed)
        return found

    def _restore_times(self) -> None:
        """Restore the time of /usr: with a newer one, systemd would "update" the host at the next boot."""
        entry = self.baseline.files.get("/usr")
        if entry is not None:
            os.utime("/usr", ns=(entry.mtime_ns, entry.mtime_ns))

    def _restore(self, path: str, entry: manifest.Entry) -> bool:
        current = manifest.read(path)
        try:
            other = current is None or (current.kind, current.content) != (
                entry.kind,
                entry.content,
            )
            if other and not self._recreate(path, entry):
                log.warning("file_not_restorable", path=path)
                return path.startswith("/var/cache/") and remove(path)
            return retry_unlocked(path, lambda: _set_metadata(path, entry))
        except OSError as problem:
            log.warning("file_not_restored", path=path, message=str(problem))
            return False

    def _recreate(self, path: str, entry: manifest.Entry) -> bool:
        source = self._source(path, entry) if entry.kind == "file" else None
        if entry.kind not in ("file", "link", "folder") or (entry.kind == "file" and not source):
            return False
        is_folder = os.path.isdir(path) and not os.path.islink(path)
        if os.path.lexists(path) and not (entry.kind == "folder" and is_folder):
            remove(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if entry.kind == "folder":
            os.makedirs(path, exist_ok=True)
        elif entry.kind == "link":
            os.symlink(entry.content, path)
        elif source is not None:
            shutil.copyfile(source, path)
        return True

    def _source(self, path: str, entry: manifest.Entry) -> Path | None:
        """Return a source for the content: the agent's copy, or the golden image if its content matches."""
        copies = [self.blobs / entry.content] if entry.content else []
        if self.golden_root is not None:
            copies.append(self.golden_root / path.lstrip("/"))
        for copy in copies:
            found = manifest.read(str(copy))
            if found is not None and found.kind == "file" and found.content == entry.content:
                return copy
        return Path(os.devnull) if volatile_files.is_log(path) else None

    def empty_scratch(self) -> str:
        before = self.removed
        for folder in SCRATCH:
            for path in scratch_leftovers(folder):
                self.removed += remove(path)
        for path in self.folders.leftover_slices():
            self.removed += remove(path)
        for name in set(os.listdir("/run")) - self.baseline.live.run_entries:
            if is_run_leftover(name):
                self.removed += remove(f"/run/{name}")
        if self.baseline.run_files is not None:
            # What a generator made is made again when units settle.
            for line in units.run_differences(self.baseline.run_files, units.run_files()):
                self.removed += remove(line.split(" ", 1)[1])
        self._forget_compiled_code()
        return f"{self.removed - before} entries"

    def _forget_compiled_code(self) -> None:
        """Remove cached bytecode: a tenant who was root could have left code there that the agent would load."""
        if sys.pycache_prefix is not None and os.path.isdir(sys.pycache_prefix):
            for entry in os.scandir(sys.pycache_prefix):
                remove(entry.path)

    def clean_logs(self, deadline: Deadline) -> str:
        """Make journald begin a new journal, remove all others, and empty every other log."""
        self.journals = journal_files.renew(deadline)
        emptied = 0
        for folder in ("/var/log", "/var/lib/dhcp"):
            for parent, _, names in os.walk(folder):
                for path in (os.path.join(parent, name) for name in names):
                    if not parent.startswith("/var/log/journal"):
                        emptied += _empty(path)
                    elif os.path.basename(path) != "system.journal":
                        self.removed += remove(path)
        return f"{emptied} logs emptied"

    def end_replaced(self, deadline: Deadline) -> str:
        """End processes whose program differs from the restored file; their services restart with the right one."""
        found = Programs(self.baseline.files).find_replaced_programs(processes.snapshot())
        own = {process.pid for process in processes.others()}
        if any(process.pid == 1 for process, _ in found):
            commands.attempt(["systemctl", "daemon-reexec"], deadline.at_most(30))
        doomed = [process for process, _ in found if process.pid in own]
        if doomed:
            left = {process.instance for process in doomed}
            processes.end(
                lambda: [process for process in processes.others() if process.instance in left], lambda: None, deadline
            )
        return f"{len(found)} replaced programs"

    def restore_kernel(self, deadline: Deadline) -> str:
        """Restore what a restart would also reset: packet filters, settings, namespaces, device nodes."""
        if self.baseline.live.kernel is None:
            return "not known"
        return kernel_state.restore(self.baseline.live.kernel, deadline)

    def settle_units(self, deadline: Deadline) -> str:
        units.settle(deadline)
        now = units.present(deadline)
        missing = sorted(
            unit for unit in self.baseline.live.units - now if unit.endswith((".service", ".socket", ".timer"))
        )
        units.start(missing, deadline)
        return f"{len(missing)} units started again"


def scratch_leftovers(folder: str) -> list[str]:
    """Return everything in a scratch folder; of a service's private folder of this boot, only what its services left."""
    found = []
    private = re.compile(rf"systemd-private-{processes.boot_id().replace('-', '')}-[^/]+")
    for path in entries_of(folder):
        if private.fullmatch(os.path.basename(path)) and _is_private_folder(path):
            inner = os.path.join(path, "tmp")
            found += [entry for entry in entries_of(path) if entry != inner]
            found += entries_of(inner) if os.path.lexists(inner) else []
        else:
            found.append(path)
    return found


def _is_private_folder(path: str) -> bool:
    status = os.lstat(path)
    return stat.S_ISDIR(status.st_mode) and (status.st_uid, stat.S_IMODE(status.st_mode)) == (0, 0o700)


_RUN_BELONGINGS = {
    *("utmp", "nologin", "sudo", "sshd.pid", "motd.dynamic", "user", "netns", "sshd"),
    *("systemd", "agetty.reload"),
}


def is_run_leftover(name: str) -> bool:
    """Tell whether a new entry in /run is a leftover, and not one that the system itself creates."""
    return name not in _RUN_BELONGINGS


def _empty(path: str) -> bool:
    """Empty a file, but never through a link: a tenant may have pointed it anywhere."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    os.close(descriptor)
    return True


def _set_metadata(path: str, entry: manifest.Entry) -> None:
    if entry.kind != "link":
        clear_flags(path)
    os.chown(path, entry.uid, entry.gid, follow_symlinks=False)
    if entry.kind == "link":
        return
    os.chmod(path, entry.mode)
    wanted = dict(attribute.split("=", 1) for attribute in entry.attributes.split(";") if "=" in attribute)
    for name in os.listxattr(path):
        if name not in wanted:
            os.removexattr(path, name)
    for name, value in wanted.items():
        os.setxattr(path, name, bytes.fromhex(value))
    if stat.S_ISREG(os.lstat(path).st_mode):
        os.utime(path, ns=(entry.mtime_ns, entry.mtime_ns))
