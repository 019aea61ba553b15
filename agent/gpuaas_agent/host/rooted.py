"""Looks at files below a root folder and never outside of it: a link that a tenant planted leads nowhere else.

Links are followed as a process inside would follow them. Only a clear "no such file" is absence; all else raises.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_MOST_LINKS = 40
_LARGEST = 4 << 20
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class RootedFiles:
    root: Path

    def kind(self, path: str) -> str | None:
        """What is at the path itself: folder, link, file or other; None when nothing is."""
        with self._parent(path) as found:
            if found is None:
                return None
            folder, name = found
            try:
                mode = os.stat(name or ".", dir_fd=folder, follow_symlinks=False).st_mode
            except FileNotFoundError:
                return None
        if stat.S_ISDIR(mode):
            return "folder"
        if stat.S_ISLNK(mode):
            return "link"
        return "file" if stat.S_ISREG(mode) else "other"

    def exists(self, path: str) -> bool:
        return self.kind(path) is not None

    def names(self, path: str) -> list[str]:
        """What a folder holds; nothing when it is not there or is no folder."""
        with self._opened(path, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
            return [] if descriptor is None else sorted(os.listdir(descriptor))

    def read(self, path: str) -> bytes | None:
        """A regular file's content, up to a bound that is an error to exceed; None when it is not there."""
        with self._opened(path, os.O_RDONLY | os.O_NONBLOCK) as descriptor:
            if descriptor is None:
                return None
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
                raise OSError(errno.EFBIG, "not a small regular file", path)
            with os.fdopen(os.dup(descriptor), "rb") as file:
                return file.read(_LARGEST)

    @contextmanager
    def _opened(self, path: str, flags: int) -> Iterator[int | None]:
        with self._parent(path, follow_last=True) as found:
            try:
                descriptor = (
                    None
                    if found is None
                    else os.open(found[1] or ".", flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=found[0])
                )
            except (FileNotFoundError, NotADirectoryError):
                descriptor = None
            try:
                yield descriptor
            finally:
                if descriptor is not None:
                    os.close(descriptor)

    @contextmanager
    def _parent(self, path: str, *, follow_last: bool = False) -> Iterator[tuple[int, str] | None]:
        """(open folder, last name) of a path; an empty name is the folder itself. None when there is no such folder."""
        with contextlib.ExitStack() as stack:

            def held(descriptor: int) -> int:
                stack.callback(os.close, descriptor)
                return descriptor

            top = held(os.open(self.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
            here, waiting, links = [top], _parts(path), 0
            name = ""
            try:
                while waiting:
                    name = waiting.pop(0)
                    if name == "..":
                        here = here[:-1] or [top]  # above the root is the root
                        name = ""
                        continue
                    if waiting or follow_last:
                        target = _link(here[-1], name)
                        if target is not None:
                            links += 1
                            if links > _MOST_LINKS:
                                raise OSError(errno.ELOOP, "too many links", path)
                            here = [top] if target.startswith("/") else here
                            waiting, name = _parts(target) + waiting, ""
                            continue
                    if waiting:
                        here = [*here, held(os.open(name, _FOLDER, dir_fd=here[-1]))]
                        name = ""
            except (FileNotFoundError, NotADirectoryError):
                yield None
                return
            yield here[-1], name


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _link(folder: int, name: str) -> str | None:
    """Where a link leads; None for what is no link. Nothing there raises."""
    if not stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        return None
    return os.readlink(name, dir_fd=folder)
