"""Reads files below a root folder and never outside of it, even through a link that a tenant created.

Links are followed as a process inside would follow them. Only "no such file" means absence; all other errors raise.
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
class ConfinedFiles:
    root: Path

    def kind(self, path: str) -> str | None:
        """Return the kind of the path itself: folder, link, file or other; None if it does not exist."""
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
        """Return the names in a folder; empty if it does not exist or is not a folder."""
        with self._opened(path, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
            return [] if descriptor is None else sorted(os.listdir(descriptor))

    def read(self, path: str) -> bytes | None:
        """Return a regular file's content, or None if it does not exist; a larger file than the bound raises."""
        with self._opened(path, os.O_RDONLY | os.O_NONBLOCK) as descriptor:
            if descriptor is None:
                return None
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
                raise OSError(errno.EFBIG, "not a small regular file", path)
            with os.fdopen(os.dup(descriptor), "rb") as file:
                return file.read(_LARGEST)

    @contextmanager
    def opened_file(self, path: str) -> Iterator[int | None]:
        """Open a regular file for reading by another program; None if it does not exist or is of another kind."""
        with self._opened(path, os.O_RDONLY | os.O_NONBLOCK) as descriptor:
            is_file = descriptor is not None and stat.S_ISREG(os.fstat(descriptor).st_mode)
            yield descriptor if is_file else None

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
        """Yield (open folder, last name), or None if the folder does not exist. An empty name is the folder itself."""
        with contextlib.ExitStack() as stack:

            def close_later(descriptor: int) -> int:
                stack.callback(os.close, descriptor)
                return descriptor

            top = close_later(os.open(self.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
            here, waiting, links = [top], _parts(path), 0
            name = ""
            try:
                while waiting:
                    name = waiting.pop(0)
                    if name == "..":
                        here = here[:-1] or [top]  # the parent of the root is the root
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
                        here = [*here, close_later(os.open(name, _FOLDER, dir_fd=here[-1]))]
                        name = ""
            except (FileNotFoundError, NotADirectoryError):
                yield None
                return
            yield here[-1], name


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _link(folder: int, name: str) -> str | None:
    """Return the target of a link, or None for anything else. A missing path raises."""
    if not stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        return None
    return os.readlink(name, dir_fd=folder)
