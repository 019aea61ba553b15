"""Folders that are built once on a machine. A folder with its final name is complete: one rename gives it the name.

The kernel releases the lock of a builder that died, and the next one removes what it left.
"""

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gpuaas_catalogue.images.errors import BuildFailed

WAIT_SECONDS = 1200.0
KEPT_SECONDS = 7 * 24 * 3600.0


@dataclass(frozen=True)
class BuildCache:
    folder: Path

    def find(self, name: str) -> Path | None:
        """Return the folder of this name if it is complete."""
        done = self.folder / name
        if not done.is_dir():
            return None
        os.utime(done)
        return done

    def ensure(self, name: str, build: Callable[[Path], None]) -> Path:
        """Return the folder of this name; if there is none, `build` fills a new one."""
        found = self.find(name)
        if found is not None:
            return found
        with self._locked(name):
            if self.find(name) is None:
                self._build(self.folder / name, build)
        return self.folder / name

    def prune(self) -> list[Path]:
        """Remove what was not used for a week."""
        old = [one for one in self.folder.glob("*-*") if one.is_dir() and _age(one) > KEPT_SECONDS]
        for folder in old:
            shutil.rmtree(folder, ignore_errors=True)
            folder.with_name(f"{folder.name}.lock").unlink(missing_ok=True)
        return old

    def _build(self, done: Path, build: Callable[[Path], None]) -> None:
        building = done.with_name(f"{done.name}.building")
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir(parents=True)
        try:
            build(building)
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            raise
        building.rename(done)

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.folder / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + WAIT_SECONDS
        try:
            while not _try_lock(handle):
                if time.monotonic() > deadline:
                    raise BuildFailed(
                        f"Another process has been building {name} for {WAIT_SECONDS:g} s.", "Try again later."
                    )
                time.sleep(0.1)
            yield
        finally:
            os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _age(folder: Path) -> float:
    return time.time() - folder.stat().st_mtime
