"""Removes files and folders, even if they or their folder are marked immutable."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import struct
from collections.abc import Callable

from gpuaas_agent import log
from gpuaas_agent.host import mounts

_FS_IOC_GETFLAGS, _FS_IOC_SETFLAGS = 0x80086601, 0x40086602
_IMMUTABLE_OR_APPEND = 0x10 | 0x20


def entries_of(folder: str) -> list[str]:
    """Return what is in a folder, or the path itself if it is anything else: a link is never followed."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return [folder]
    try:
        return sorted(os.path.join(folder, name) for name in os.listdir(descriptor))
    finally:
        os.close(descriptor)


def remove(path: str) -> bool:
    """Remove a file or a whole folder. Returns False if something stays; the verification then finds it."""
    try:
        return retry_unlocked(path, lambda: _remove_once(path))
    except FileNotFoundError:
        return True
    except OSError as problem:
        log.warning("file_not_removed", path=path, message=str(problem))
        return False


def _remove_once(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        if within := mounts.points_within(path):
            raise OSError(errno.EBUSY, "is not removed, because what is mounted there would be emptied", within[0])
        shutil.rmtree(path)
    else:
        os.unlink(path)


def retry_unlocked(path: str, action: Callable[[], None]) -> bool:
    """Try an action; if it is refused, clear the immutable flags and try again."""
    try:
        action()
    except PermissionError:
        unlock_below(path)
        clear_flags(os.path.dirname(path))
        action()
    return True


def unlock_below(path: str) -> None:
    """Clear the flags "immutable" and "append-only" of a file, or of a folder and everything in it."""
    for folder, _, names in os.walk(path):
        for name in names:
            clear_flags(os.path.join(folder, name))
        clear_flags(folder)
    clear_flags(path)


def clear_flags(path: str) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            raw = fcntl.ioctl(descriptor, _FS_IOC_GETFLAGS, b"\0" * 8)
            flags = struct.unpack("l", raw)[0] & ~_IMMUTABLE_OR_APPEND
            fcntl.ioctl(descriptor, _FS_IOC_SETFLAGS, struct.pack("l", flags))
        finally:
            os.close(descriptor)
