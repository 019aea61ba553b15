"""A manifest lists every file of the root file system with all attributes that a tenant could change.

A file that cannot be read is an `unreadable` entry, which never compares equal.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import struct
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from gpuaas_agent.host import mounts

# Folders whose content is not on disk, or is covered by a separate check. The folders themselves are in the manifest.
EXCLUDED = ("/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp")  # noqa: S108
_FS_IOC_GETFLAGS = 0x80086601
_IMMUTABLE_OR_APPEND = 0x10 | 0x20
_LOCKED = "locked;"
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
        """Compare two entries. Modification times are stored for a restore and not compared."""
        return "unreadable" not in (self.kind, other.kind) and (
            self.kind,
            self.mode,
            self.uid,
            self.gid,
            self.content,
            self.attributes,
        ) == (other.kind, other.mode, other.uid, other.gid, other.content, other.attributes)

    @property
    def is_locked(self) -> bool:
        """Tell whether it is immutable or append-only."""
        return self.attributes.startswith(_LOCKED)

    def same_but_content(self, other: Entry) -> bool:
        return (self.kind, self.mode, self.uid, self.gid, self.attributes) == (
            other.kind,
            other.mode,
            other.uid,
            other.gid,
            other.attributes,
        )


Manifest = dict[str, Entry]


def scan(excluded: tuple[str, ...], root: str = "/", *, like: Manifest | None = None) -> Manifest:
    """Walk and hash the files. `like`: leave out what a manifest of an older agent, to compare with, does not have."""
    barred = {*EXCLUDED, *excluded, *mounts.not_part_of_root(mounts.table())}
    if root != "/":
        barred = {root + path for path in barred}
    return _read_all(_walk(root, barred, with_edges=like is None or root in like))


def scan_plain(root: str) -> Manifest:
    """Walk and hash everything from this file or folder on."""
    return _read_all(_walk(root, set(), with_edges=True))


def _read_all(found: Iterable[str]) -> Manifest:
    """Hash in a few threads: hashing releases the interpreter lock."""
    paths = list(found)
    batches = [paths[start : start + 256] for start in range(0, len(paths), 256)]
    manifest: Manifest = {}
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        for batch in pool.map(_read_batch, batches):
            manifest.update(batch)
    return manifest


def _walk(root: str, barred: set[str], *, with_edges: bool) -> Iterator[str]:
    """Yield the paths. The edges are the root and the barred folders: they are yielded, and what is in the latter is not."""
    if with_edges:
        yield root
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.path in barred:
                        if with_edges:
                            yield entry.path
                        continue
                    yield entry.path
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except (FileNotFoundError, NotADirectoryError):
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
    """Read one entry; None if the path does not exist."""
    try:
        status = os.lstat(path)
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "unknown")
        content = ""
        flags = ""
        if kind == "file":
            with open(path, "rb", buffering=0, opener=_open_plainly) as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
                flags = _flags(file.fileno())
        elif kind == "folder":
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                flags = _flags(descriptor)
            finally:
                os.close(descriptor)
        elif kind == "link":
            content = os.readlink(path)
        elif kind == "device":
            content = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
        attributes = "" if kind == "link" else flags + _attributes(path)
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


def _open_plainly(path: str, flags: int) -> int:
    """Open without following a link or blocking on a pipe: a file may have been replaced since it was listed."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _flags(descriptor: int) -> str:
    """Return `locked;` for files that are immutable or append-only, which neither the next tenant nor the agent can change."""
    try:
        raw = fcntl.ioctl(descriptor, _FS_IOC_GETFLAGS, b"\0" * 8)
    except OSError:
        return ""  # a file system without such flags
    return _LOCKED if struct.unpack("l", raw)[0] & _IMMUTABLE_OR_APPEND else ""


def _unreadable(why: str) -> Entry:
    return Entry("unreadable", 0, 0, 0, 0, 0, why, "")


def _attributes(path: str) -> str:
    """Return extended attributes, which include file capabilities: a hidden way to keep privileges on a host."""
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
        if not old.same_as(entry):
            changed.append(path)
    return Difference(
        added=sorted(path for path in now if path not in before),
        changed=sorted(changed),
        removed=sorted(path for path in before if path not in now),
    )
