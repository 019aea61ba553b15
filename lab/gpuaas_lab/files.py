"""Locks, mounts and folders on the lab machine.

A folder is removed only after every mount below it is gone.
"""

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gpuaas_lab.commands import execute
from gpuaas_lab.errors import DeadlinePassed, LabError

KEPT_SECONDS = 24 * 3600.0  # recently used folders are kept: another checkout with another recipe may use them again


def used_stamp(folder: Path) -> Path:
    """Return the file whose time says when the folder was last used."""
    return folder.with_name(f"{folder.name}.used")


def used_lately(stamp: Path) -> bool:
    """Tell whether the file was touched within the last day."""
    try:
        return time.time() - stamp.stat().st_mtime < KEPT_SECONDS
    except FileNotFoundError:
        return False


@contextmanager
def locked(
    path: Path, timeout: float, waiting_for: str, on_wait: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Hold an exclusive lock; the kernel releases it when its holder dies. `on_wait` is called once before a wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + timeout
    try:
        while not _try_lock(handle):
            if time.monotonic() > deadline:
                raise DeadlinePassed(f"waited {timeout:g} s for {waiting_for} (lock {path})")
            if on_wait is not None:
                on_wait(f"waiting for {waiting_for}")
                on_wait = None
            time.sleep(0.05)
        yield
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def mounts_below(folder: Path) -> list[Path]:
    """Return mount points at or below a folder, the newest first."""
    found = []
    for line in Path("/proc/self/mounts").read_text().splitlines():
        point = Path(line.split()[1].replace("\\040", " "))
        if point == folder or folder in point.parents:
            found.append(point)
    return found[::-1]


def unmount_below(folder: Path) -> None:
    for point in mounts_below(folder):
        if execute(["umount", str(point)], check=False).returncode != 0:
            execute(["umount", "--lazy", str(point)])


def remove_folder(folder: Path) -> None:
    if not folder.exists():
        return
    unmount_below(folder)
    if left := mounts_below(folder):
        raise LabError(f"{folder} is not removed: still mounted below it: {left}")
    try:
        shutil.rmtree(folder)
    except PermissionError:
        # A file was made immutable on the host.
        execute(["chattr", "-R", "-f", "-i", "-a", str(folder)], check=False)
        shutil.rmtree(folder)
