"""A folder that is built once per machine and then shared by all fleets.

A folder with the final name is complete: one rename gives it the name. Its builder runs in its own cgroup and namespaces,
so that the mounts of a killed builder disappear, and the next builder finds the rest.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuaas_lab import cgroups
from gpuaas_lab.commands import follow
from gpuaas_lab.errors import CommandFailed, LabError
from gpuaas_lab.files import locked, remove_folder
from gpuaas_lab.layout import PREFIX

Progress = Callable[[str], None]


@dataclass(frozen=True)
class BuiltFolder:
    path: Path
    called: str = ""

    @property
    def building(self) -> Path:
        return self.path.with_name(f"{self.path.name}.building")

    @property
    def _lock(self) -> Path:
        return self.path.with_name(f"{self.path.name}.lock")

    @property
    def _group(self) -> str:
        return f"{PREFIX}build-{self.path.name}"

    def ensure(self, build: Callable[[], Path], timeout: float, progress: Progress) -> Path:
        """Return the folder; if there is none, `build` creates it below `building` and returns its path there."""
        if self.path.is_dir():
            return self.path
        with locked(self._lock, timeout, f"another process to build {self.called}", progress):
            if not self.path.is_dir():
                self._build(build, progress)
        return self.path

    def _build(self, build: Callable[[], Path], progress: Progress) -> None:
        began = time.monotonic()
        self._clear()
        self.building.mkdir(parents=True)
        progress(f"building {self.called} in {self.path} (once, for all fleets)")
        try:
            made = build()
        except CommandFailed as failure:
            raise LabError(
                f"{self.called} could not be built: {failure.output.strip()[-600:]}\n"
                "Check that `apt-get update` works on this machine, then try again."
            ) from failure
        finally:
            cgroups.remove(self._group)
        made.rename(self.path)
        self._clear()
        progress(f"{self.called} is ready after {time.monotonic() - began:.0f} s")

    def run(self, argv: Sequence[str], on_line: Progress, timeout: float) -> None:
        """Run one command of the builder: none of its processes and mounts outlives the builder."""
        cgroups.create(self._group)
        script = f'set -e\n{cgroups.join_script(self._group)}\nexec unshare --mount --pid --fork --kill-child "$@"'
        follow(["sh", "-c", script, "sh", *argv], on_line, timeout=timeout)

    def discard(self) -> bool:
        """Remove the folder unless a builder works on it. An incomplete folder never has the final name."""
        try:
            with locked(self._lock, 0.0, "a builder"):
                self._clear()
                self.path.rename(self.building)
                self._clear()
        except LabError:
            return False
        return True

    def _clear(self) -> None:
        cgroups.remove(self._group)
        remove_folder(self.building)

    def remove_dead_build(self) -> None:
        try:
            with locked(self._lock, 0.0, "a builder"):
                self._clear()
        except LabError:
            return  # its builder still runs


def complete_below(parent: Path) -> list[Path]:
    return [folder for folder in parent.glob("*") if folder.is_dir() and not folder.suffix]


def remove_dead_builds(*parents: Path) -> None:
    """Remove the processes and folders of builders that died."""
    for building in (found for parent in parents for found in parent.glob("*.building")):
        BuiltFolder(building.with_suffix("")).remove_dead_build()
