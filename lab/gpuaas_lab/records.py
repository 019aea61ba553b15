"""Records which fleets exist and who owns them: one small file per fleet, written before anything else of it.

A fleet is alive while its owner runs, or, if it was detached, until the machine reboots.
"""

import json
import os
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from gpuaas_lab.layout import RUN_DIR, FleetLayout
from gpuaas_lab.processes import boot_id, start_time

LOCK = RUN_DIR / "lock"
LOCK_TIMEOUT = 300.0
_LAST_NUMBER = RUN_DIR / "last-number"
_CHECKOUT = "checkout"


@dataclass(frozen=True)
class FleetRecord:
    name: str
    number: int
    hosts: int
    gpus_per_host: int
    boot: str
    owner_pid: int | None
    owner_started: int | None

    @classmethod
    def of_this_process(cls, layout: FleetLayout) -> "FleetRecord":
        pid = os.getpid()
        return cls(
            layout.name,
            layout.number,
            layout.host_count,
            layout.gpus_per_host,
            boot_id(),
            pid,
            start_time(pid),
        )

    @property
    def layout(self) -> FleetLayout:
        return FleetLayout(self.name, self.number, self.hosts, self.gpus_per_host)

    @property
    def is_detached(self) -> bool:
        return self.owner_pid is None

    @property
    def is_alive(self) -> bool:
        if self.boot != boot_id():
            return False
        if self.owner_pid is None:
            return True
        return start_time(self.owner_pid) == self.owner_started

    @property
    def is_mine(self) -> bool:
        return self.is_alive and self.owner_pid == os.getpid()

    def without_owner(self) -> "FleetRecord":
        return replace(self, owner_pid=None, owner_started=None)

    def save(self) -> None:
        RUN_DIR.mkdir(parents=True, exist_ok=True)
        path = record_path(self.name)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(self)) + "\n")
        partial.rename(path)


_KNOWN = frozenset(one.name for one in fields(FleetRecord))


def record_path(name: str) -> Path:
    return RUN_DIR / f"{name}.json"


def load(name: str) -> FleetRecord | None:
    try:
        told = json.loads(record_path(name).read_text())
        # A newer lab of another checkout may write more fields; its fleet is alive as well.
        return FleetRecord(**{key: value for key, value in told.items() if key in _KNOWN})
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, AttributeError):
        # A damaged record: the fleet's objects are found by name.
        record_path(name).unlink(missing_ok=True)
        return None


def load_all() -> list[FleetRecord]:
    found = (load(path.stem) for path in sorted(RUN_DIR.glob("*.json")))
    return [record for record in found if record is not None]


def note_checkout(layout: FleetLayout, checkout: Path) -> None:
    """Store in the fleet's folder which checkout detached it; records may be read by another version of the lab."""
    layout.directory.mkdir(parents=True, exist_ok=True)
    (layout.directory / _CHECKOUT).write_text(f"{checkout}\n")


def is_from(record: FleetRecord, checkout: Path) -> bool:
    try:
        return (record.layout.directory / _CHECKOUT).read_text().strip() == str(checkout)
    except FileNotFoundError:
        return False


def last_number() -> int:
    """Return the last fleet number that was used; 0 if there was none."""
    try:
        return int(_LAST_NUMBER.read_text())
    except (FileNotFoundError, ValueError):
        return 0


def remember_number(number: int) -> None:
    _LAST_NUMBER.write_text(f"{number}\n")
