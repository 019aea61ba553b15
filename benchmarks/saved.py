"""The sections that were measured, one JSON file each below `var/benchmarks`: a full run may be made in pieces."""

import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import REPOSITORY
from benchmarks.figures import Figure, Size
from benchmarks.machine import Speed, Storage

FOLDER = REPOSITORY / "var" / "benchmarks"


class NotComparable(Exception):
    """The saved sections are no full run on one machine."""


@dataclass(frozen=True, slots=True)
class Section:
    """One benchmark's figures, and the machine's own speed just before."""

    name: str
    figures: list[Figure]
    speed: Speed
    storage: Storage
    machine: str
    code: str  # the commit; "-dirty" follows it if files were changed since
    measured_at: str
    other_sizes: str = ""  # what was not as in a full run

    @property
    def circumstances(self) -> str:
        other = f", with {self.other_sizes}" if self.other_sizes else ""
        return f"{self.measured_at} at {self.code}{other}; the machine just before: {self.speed}; {self.storage}"


def now(name: str, figures: list[Figure], speed: Speed, storage: Storage, size: Size) -> Section:
    at = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    full = asdict(Size())
    other = ", ".join(f"{key} {value}" for key, value in asdict(size).items() if value != full[key])
    return Section(name, figures, speed, storage, machine(), code(), at, other)


def save(section: Section, folder: Path = FOLDER) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{section.name}.unfinished"
    unfinished.write_text(json.dumps(asdict(section), indent=1) + "\n")
    unfinished.replace(folder / f"{section.name}.json")


def load(name: str, folder: Path = FOLDER) -> Section | None:
    try:
        read = json.loads((folder / f"{name}.json").read_text())
    except FileNotFoundError:
        return None
    section = Section(**read)
    figures = [Figure(**figure) for figure in read["figures"]]
    return replace(section, figures=figures, speed=Speed(**read["speed"]), storage=Storage(**read["storage"]))


def collect(names: list[str], folder: Path = FOLDER) -> list[Section]:
    """Return the sections of a full run. It may be made in pieces, but on one machine."""
    found = {name: load(name, folder) for name in names}
    missing = [name for name, section in found.items() if section is None]
    if missing:
        raise NotComparable(f"not measured yet: {', '.join(missing)} (python -m benchmarks {' '.join(missing)})")
    sections = [section for section in found.values() if section is not None]
    machines = {section.machine: section.name for section in sections}
    if len(machines) > 1:
        raise NotComparable("measured on different machines: " + "; ".join(f"{v} on {k}" for k, v in machines.items()))
    return sections


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    system = f"Linux {platform.release()}, Python {platform.python_version()}"
    return f"{_cpu_model()}, {os.cpu_count()} cores, {memory:.0f} GiB, {system}"


def code() -> str:
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    said = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False).stdout.strip()
    return said or "an unknown commit"


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
