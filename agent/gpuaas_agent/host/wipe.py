"""Makes a host what it was: removes what was added, puts back what was changed or taken away.

It claims nothing: `verify` looks afterwards with its own eyes.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpuaas_agent import commands, log
from gpuaas_agent.commands import Deadline
from gpuaas_agent.host import manifest, mounts, units
from gpuaas_agent.host.baseline import Baseline, Surroundings

SCRATCH = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108
_FS_IOC_GETFLAGS, _FS_IOC_SETFLAGS = 0x80086601, 0x40086602
_IMMUTABLE_OR_APPEND = 0x10 | 0x20


@dataclass
class Wiper:
    baseline: Baseline
    surroundings: Surroundings
    blobs: Path
    golden_root: Path | None
    removed: int = 0
    restored: int = 0

    def unmount_extra(self, deadline: Deadline) -> str:
        expected = list(self.baseline.live.mounts)
        extra = []
        for mount in self.surroundings.mount_points():
            if mount.label in expected:
                expected.remove(mount.label)
            else:
                extra.append(mount)
        for mount in reversed(extra):
            self.removed += mounts.unmount(mount.point, deadline)
        return f"{len(extra)} extra mounts"

    def restore_files(self) -> str:
        now = manifest.scan(self.surroundings.excluded)
        difference = manifest.compare(self.baseline.files, now)
        # Deepest first, so that folders are empty when their turn comes.
        for path in sorted(difference.added, key=len, reverse=True):
            self.removed += remove(path)
        for path in sorted(difference.changed + difference.removed, key=len):
            self.restored += self._restore(path, self.baseline.files[path])
        added, changed = len(difference.added), len(difference.changed)
        return f"{added} added, {changed} changed, {len(difference.removed)} removed by the tenant"

    def _restore(self, path: str, entry: manifest.Entry) -> bool:
        current = manifest.read(path)
        try:
            other = current is None or (current.kind, current.content) != (
                entry.kind,
                entry.content,
            )
            if other and not self._recreate(path, entry):
                log.warning("file_not_restorable", path=path)
                return False
            return _insist(path, lambda: _set_metadata(path, entry))
        except OSError as problem:
            log.warning("file_not_restored", path=path, message=str(problem))
            return False

    def _recreate(self, path: str, entry: manifest.Entry) -> bool:
        source = self._source(path, entry) if entry.kind == "file" else None
        if entry.kind not in ("file", "link", "folder") or (entry.kind == "file" and not source):
            return False
        if os.path.lexists(path) and not (entry.kind == "folder" and os.path.isdir(path)):
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
        """Our own copy, or the golden image when its content is the right one."""
        copies = [self.blobs / entry.content] if entry.content else []
        if self.golden_root is not None:
            copies.append(self.golden_root / path.lstrip("/"))
        for copy in copies:
            found = manifest.read(str(copy))
            if found is not None and found.kind == "file" and found.content == entry.content:
                return copy
        return Path(os.devnull) if manifest.is_living(path) else None

    def empty_scratch(self) -> str:
        before = self.removed
        for folder in SCRATCH:
            for path in scratch_litter(folder):
                self.removed += remove(path)
        for path in self.surroundings.hidden():
            self.removed += remove(path)
        for name in set(os.listdir("/run")) - self.baseline.live.run_entries:
            if is_run_litter(name):
                self.removed += remove(f"/run/{name}")
        self._forget_compiled_code()
        return f"{self.removed - before} entries"

    def _forget_compiled_code(self) -> None:
        """A tenant who was root could have left code there that this agent would load."""
        if sys.pycache_prefix is not None and os.path.isdir(sys.pycache_prefix):
            for entry in os.scandir(sys.pycache_prefix):
                remove(entry.path)

    def clean_logs(self, deadline: Deadline) -> str:
        commands.attempt(["journalctl", "--quiet", "--rotate", "--vacuum-time=1s"], deadline.at_most(30))
        emptied = 0
        for parent, _, names in os.walk("/var/log"):
            for name in names:
                path = os.path.join(parent, name)
                if not name.endswith(".journal"):
                    emptied += _empty(path)
                elif name.startswith("user-"):
                    self.removed += remove(path)
        return f"{emptied} logs emptied"

    def settle_units(self, deadline: Deadline) -> str:
        units.settle(deadline)
        now = units.present(deadline)
        missing = sorted(
            unit for unit in self.baseline.live.units - now if unit.endswith((".service", ".socket", ".timer"))
        )
        units.start(missing, deadline)
        return f"{len(missing)} units started again"


def scratch_litter(folder: str) -> list[str]:
    """Everything in a scratch folder; for a service's private one, what lies in it."""
    found = []
    for entry in os.scandir(folder):
        if entry.name.startswith("systemd-private-") and entry.is_dir(follow_symlinks=False):
            inner = os.path.join(entry.path, "tmp")
            with contextlib.suppress(FileNotFoundError):
                found += [inside.path for inside in os.scandir(inner)]
        else:
            found.append(entry.path)
    return found


_RUN_BELONGINGS = {"utmp", "nologin", "sudo", "sshd.pid", "motd.dynamic", "user", "netns", "sshd"}


def is_run_litter(name: str) -> bool:
    """New entries directly under /run, except those that the system itself makes on the way."""
    return name not in _RUN_BELONGINGS and not name.startswith(("systemd", "gpuaas", "agetty"))


def remove(path: str) -> bool:
    """Remove a file or a whole folder. False when something of it stays; verify will see it."""
    try:
        return _insist(path, lambda: _remove_once(path))
    except FileNotFoundError:
        return True
    except OSError as problem:
        log.warning("file_not_removed", path=path, message=str(problem))
        return False


def _empty(path: str) -> bool:
    """Never through a link: the tenant may have pointed it anywhere."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    os.close(descriptor)
    return True


def _remove_once(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def _insist(path: str, action: Callable[[], None]) -> bool:
    """Try; when the file is marked immutable, take the mark away and try again."""
    try:
        action()
    except PermissionError:
        for folder, _, names in os.walk(path):
            for name in names:
                _clear_flags(os.path.join(folder, name))
            _clear_flags(folder)
        _clear_flags(path)
        action()
    return True


def _clear_flags(path: str) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            raw = fcntl.ioctl(descriptor, _FS_IOC_GETFLAGS, b"\0" * 8)
            flags = struct.unpack("l", raw)[0] & ~_IMMUTABLE_OR_APPEND
            fcntl.ioctl(descriptor, _FS_IOC_SETFLAGS, struct.pack("l", flags))
        finally:
            os.close(descriptor)


def _set_metadata(path: str, entry: manifest.Entry) -> None:
    os.chown(path, entry.uid, entry.gid, follow_symlinks=False)
    if entry.kind == "link":
        return
    os.chmod(path, entry.mode)
    wanted = dict(attribute.split("=", 1) for attribute in entry.attributes.split(";") if attribute)
    for name in os.listxattr(path):
        if name not in wanted:
            os.removexattr(path, name)
    for name, value in wanted.items():
        os.setxattr(path, name, bytes.fromhex(value))
    if stat.S_ISREG(os.lstat(path).st_mode):
        os.utime(path, ns=(entry.mtime_ns, entry.mtime_ns))
