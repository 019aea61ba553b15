"""Waits until files of a folder change, with inotify: nothing is polled, and no write is missed.

Folders are watched, not files: an editor replaces a file by renaming another over it.
"""

import ctypes
import os
import select
import struct
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from gpuaas_sdk.commands import CommandError

_IN_CLOSE_WRITE, _IN_MOVED_FROM, _IN_MOVED_TO, _IN_CREATE, _IN_DELETE = 0x8, 0x40, 0x80, 0x100, 0x200
_IN_ONLYDIR, _IN_ISDIR, _IN_Q_OVERFLOW, _IN_IGNORED = 0x1000000, 0x40000000, 0x4000, 0x8000
_MASK = _IN_CLOSE_WRITE | _IN_MOVED_FROM | _IN_MOVED_TO | _IN_CREATE | _IN_DELETE | _IN_ONLYDIR
_EVENT = struct.Struct("iIII")
_BUFFER = 64 * 1024
QUIET_SECONDS = 0.2  # programs write in several steps
LONGEST_WAIT = 5.0  # for quiet


class FileWatch:
    """Watches the named files. Use it in a `with` block; Ctrl-C ends a wait."""

    def __init__(self) -> None:
        try:
            self._libc = ctypes.CDLL(None, use_errno=True)
            self._descriptor: int = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        except (AttributeError, OSError, TypeError):
            self._descriptor = -1
        if self._descriptor < 0:
            sentence = "Files cannot be watched on this machine."
            raise CommandError("watch_not_possible", sentence, "Run it on Linux, with free inotify instances.")
        self._files: frozenset[Path] = frozenset()
        self._folders: dict[int, Path] = {}

    def __enter__(self) -> "FileWatch":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def watch(self, root: Path, names: Iterable[str]) -> bool:
        """Watch these files below the root from now on, whether they exist or not, and the folders on the way to them.

        Returns whether a folder is new: what was read of it before may have changed unseen.
        """
        top = Path(os.path.abspath(root))
        paths = {Path(os.path.normpath(top / name)) for name in names}
        inside = {path for path in paths if path.is_relative_to(top) and path != top}
        folders = {folder for path in inside for folder in path.parents if folder.is_relative_to(top)}
        self._files = frozenset(inside | folders)
        before = set(self._folders.values())
        for folder in folders - before:
            number = self._libc.inotify_add_watch(self._descriptor, os.fsencode(folder), ctypes.c_uint32(_MASK))
            if number >= 0:  # otherwise it does not exist yet; the folder around it tells when it does
                self._folders[number] = folder
        return not before >= set(self._folders.values())

    def wait(self, seconds: float | None = None) -> frozenset[Path]:
        """Return the files that changed, once nothing more changes for a moment. Empty: `seconds` have passed."""
        changed = self._changed(seconds)
        ends = time.monotonic() + LONGEST_WAIT
        while changed and time.monotonic() < ends and (more := self._changed(QUIET_SECONDS)):
            changed |= more
        return changed

    def _changed(self, seconds: float | None) -> frozenset[Path]:
        ends = None if seconds is None else time.monotonic() + seconds
        while True:
            left = None if ends is None else max(0.0, ends - time.monotonic())
            if not select.select([self._descriptor], [], [], left)[0]:
                return frozenset()
            if changed := self._files & self._read():
                return changed

    def _read(self) -> frozenset[Path]:
        """Return what the kernel names. When it lost count, everything may have changed."""
        try:
            content = os.read(self._descriptor, _BUFFER)
        except BlockingIOError:
            return frozenset()
        found: set[Path] = set()
        position = 0
        while position < len(content):
            number, mask, _, length = _EVENT.unpack_from(content, position)
            position += _EVENT.size
            name = content[position : position + length].rstrip(b"\0")
            position += length
            if mask & _IN_Q_OVERFLOW:
                return self._files
            if mask & _IN_IGNORED:  # the folder is gone
                self._folders.pop(number, None)
            elif number in self._folders and name:
                path = self._folders[number] / os.fsdecode(name)
                # A new file has no content yet; it counts when it is closed. A link or a folder is complete.
                if not mask & _IN_CREATE or mask & _IN_ISDIR or path.is_symlink():
                    found.add(path)
        return frozenset(found)
