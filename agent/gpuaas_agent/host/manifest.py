"""Every file of the root file system with all that a tenant could change about it.

What could not be read is an `unreadable` entry, which never compares equal.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase

from gpuaas_agent.host import mounts

# Not on disk, or handled by a check of its own.
EXCLUDED = ("/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp", "/lost+found")  # noqa: S108
# Written by the system all the time: their presence is compared, their content is not.
LIVING = (
    "/var/log/*",
    "/var/lib/systemd/*",
    "/var/lib/logrotate/*",
    "/var/lib/dhcp/*",
    "/var/cache/*",
    "/etc/machine-id",
    "/etc/resolv.conf",
    "/etc/mtab",
    "/etc/.pwd.lock",
    "/etc/ssh/ssh_host_*",
    "/etc/gpuaas",
    "/etc/gpuaas/*",
    "/etc/ssh/sshd_config.d/50-gpuaas.conf",
)
# Come and go by themselves: not compared at all.
COMING_AND_GOING = (
    "/etc/.pwd.lock",
    "/etc/gpuaas/enrolment",
    "/var/cache/gpuaas-agent",  # the agent's compiled code; a wipe empties it
    "/var/cache/gpuaas-agent/*",
    "/etc/gpuaas/ssh/*",
    "/etc/ssh/sshd_config.d/00-gpuaas-closed.conf",
    "/var/lib/systemd/timers/*",
    "/var/lib/systemd/random-seed",
    "/var/lib/systemd/credential.secret",
    "/var/log/journal/*/system*.journal",
    "/var/log/wtmp*",
    "/var/log/btmp*",
    "/var/log/lastlog",
)
_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
}


@dataclass(frozen=True)
class Entry:
    kind: str
    mode: int
    uid: int
    gid: int
    size: int
    mtime_ns: int
    content: str
    attributes: str

    def same_as(self, other: Entry) -> bool:
        """Modification times are kept for restoring, not for judging."""
        return "unreadable" not in (self.kind, other.kind) and (
            self.kind,
            self.mode,
            self.uid,
            self.gid,
            self.content,
            self.attributes,
        ) == (other.kind, other.mode, other.uid, other.gid, other.content, other.attributes)

    def same_owner_and_mode(self, other: Entry) -> bool:
        return (self.kind, self.mode, self.uid, self.gid) == (
            other.kind,
            other.mode,
            other.uid,
            other.gid,
        )


Manifest = dict[str, Entry]


def is_living(path: str) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in LIVING)


def comes_and_goes(path: str) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in COMING_AND_GOING)


def scan(excluded: tuple[str, ...], root: str = "/") -> Manifest:
    """Walk and hash in a few threads: hashing runs outside the interpreter lock."""
    barred = {*EXCLUDED, *excluded, *mounts.not_part_of_root(mounts.table())}
    if root != "/":
        barred = {root + path for path in barred}
    paths = [path for path in _walk(root, barred) if not comes_and_goes(path)]
    batches = [paths[start : start + 256] for start in range(0, len(paths), 256)]
    manifest: Manifest = {}
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        for batch in pool.map(_read_batch, batches):
            manifest.update(batch)
    return manifest


def _walk(root: str, barred: set[str]) -> Iterator[str]:
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.path in barred:
                        continue
                    yield entry.path
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except FileNotFoundError:
            continue
        except OSError:
            yield folder + "/?"  # becomes an unreadable entry


def _read_batch(paths: list[str]) -> list[tuple[str, Entry]]:
    found = []
    for path in paths:
        entry = read(path)
        if entry is not None:
            found.append((path, entry))
    return found


def read(path: str) -> Entry | None:
    """None when the path is gone."""
    try:
        status = os.lstat(path)
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "unknown")
        content = ""
        if kind == "file" and not is_living(path):
            with open(path, "rb", buffering=0) as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
        elif kind == "link":
            content = os.readlink(path)
        elif kind == "device":
            content = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
        attributes = "" if kind == "link" else _attributes(path)
    except FileNotFoundError:
        return None if not path.endswith("/?") else _unreadable(path)
    except OSError as problem:
        return _unreadable(problem.strerror or "")
    return Entry(
        kind=kind,
        mode=stat.S_IMODE(status.st_mode),
        uid=status.st_uid,
        gid=status.st_gid,
        size=status.st_size if kind == "file" else 0,
        mtime_ns=status.st_mtime_ns,
        content=content,
        attributes=attributes,
    )


def _unreadable(why: str) -> Entry:
    return Entry("unreadable", 0, 0, 0, 0, 0, why, "")


def _attributes(path: str) -> str:
    """Extended attributes hold file capabilities: a quiet way to keep power over a host."""
    try:
        names = os.listxattr(path, follow_symlinks=False)
    except OSError:
        return ""
    return ";".join(f"{name}={os.getxattr(path, name, follow_symlinks=False).hex()}" for name in sorted(names))


@dataclass(frozen=True)
class Difference:
    added: list[str]
    changed: list[str]
    removed: list[str]

    @property
    def total(self) -> int:
        return len(self.added) + len(self.changed) + len(self.removed)

    def describe(self) -> list[str]:
        return (
            [f"added {path}" for path in self.added]
            + [f"changed {path}" for path in self.changed]
            + [f"removed {path}" for path in self.removed]
        )


def compare(before: Manifest, now: Manifest) -> Difference:
    changed = []
    for path, entry in now.items():
        old = before.get(path)
        if old is None:
            continue
        same = old.same_owner_and_mode(entry) if is_living(path) else old.same_as(entry)
        if not same or entry.kind == "unreadable":
            changed.append(path)
    return Difference(
        added=sorted(path for path in now if path not in before),
        changed=sorted(changed),
        removed=sorted(path for path in before if path not in now),
    )
