"""Removes fleets from the machine, and lists what is left of them.

It finds things by name, so that it works equally after an orderly end and after a kill.
"""

from pathlib import Path

from gpuaas_lab import cgroups, fabric, records
from gpuaas_lab.built_folder import remove_dead_builds
from gpuaas_lab.errors import FleetInUse, FleetNotFound, LabError
from gpuaas_lab.files import locked, remove_folder
from gpuaas_lab.layout import (
    DATA_DIR,
    FIRST_NUMBER,
    FLEETS_DIR,
    GUEST_DISKS_DIR,
    LAST_NUMBER,
    LAYERS_DIR,
    ROOTFS_DIR,
    fleet_number_of,
)
from gpuaas_lab.records import LOCK, LOCK_TIMEOUT, FleetRecord


def destroy(record: FleetRecord) -> None:
    """Remove one fleet. Its record is removed last: until then the fleet exists."""
    _remove_number(record.number)
    remove_folder(FLEETS_DIR / record.name)
    records.record_path(record.name).unlink(missing_ok=True)


def sweep() -> list[str]:
    """Remove everything without a live owner. Caller must hold the lab's lock."""
    removed = []
    for record in records.load_all():
        if not record.is_alive:
            destroy(record)
            removed.append(record.name)
    alive = records.load_all()
    for number in _numbers_in_use() - {record.number for record in alive}:
        _remove_number(number)
        removed.append(f"remains of fleet number {number}")
    names = {record.name for record in alive}
    for folder in FLEETS_DIR.glob("*"):
        if folder.name not in names:
            remove_folder(folder)
            removed.append(f"folder {folder}")
    remove_dead_builds(ROOTFS_DIR, LAYERS_DIR, GUEST_DISKS_DIR)
    return removed


def down(name: str | None, checkout: Path | None = None) -> list[str]:
    """Stop one fleet, or all detached fleets (of one checkout), and remove what dead owners left."""
    with locked(LOCK, LOCK_TIMEOUT, "another lab command"):
        removed = sweep()
        for record in records.load_all():
            if name not in (None, record.name) or (checkout is not None and not records.is_from(record, checkout)):
                continue
            if record.is_detached:
                destroy(record)
                removed.append(record.name)
            elif name is not None:
                raise FleetInUse(f"fleet {name} belongs to the running process {record.owner_pid}: end that first")
    if name is not None and name not in removed:
        raise FleetNotFound(f"no fleet {name} is running: `gpuaas-lab status` lists them")
    return removed


def leftovers(number: int | None = None) -> list[str]:
    """Return everything of any fleet, or of one fleet number, that is on the machine now."""
    found: list[str] = []
    for group in sorted(cgroups.names()):
        if _concerns(group, number):
            found.append(f"cgroup {group}")
            found += [f"process {pid} in {group}" for pid in sorted(cgroups.members(group))]
    found += [f"network namespace {n}" for n in fabric.namespaces() if _concerns(n, number)]
    found += [f"link {link}" for link in fabric.links() if _concerns(link, number)]
    for line in Path("/proc/self/mounts").read_text().splitlines():
        source, point = line.split()[:2]
        if (number is None and DATA_DIR in Path(point).parents) or (
            number is not None and fleet_number_of(source) == number
        ):
            found.append(f"mount {point}")
    for record in records.load_all():
        if number in (None, record.number):
            found.append(f"record of fleet {record.name}")
            found += [f"folder {record.layout.directory}"] * record.layout.directory.exists()
    if number is None:
        found += sorted({f"folder {folder}" for folder in FLEETS_DIR.glob("*")} - set(found))
    return found


def _concerns(object_name: str, number: int | None) -> bool:
    return number is None or fleet_number_of(object_name) == number


def _numbers_in_use() -> set[int]:
    names = [*cgroups.names(), *fabric.namespaces(), *fabric.links()]
    numbers = (fleet_number_of(name) for name in names)
    return {number for number in numbers if number is not None}


def _remove_number(number: int) -> None:
    groups = sorted(group for group in cgroups.names() if fleet_number_of(group) == number)
    cgroups.kill_all(groups)
    for group in groups:
        cgroups.remove(group)
    fabric.remove_network(number)


def free_number() -> int:
    """Return a fleet number that nothing on the machine uses. Caller must hold the lab's lock.

    The one after the last given, not the lowest: then what is found under a fleet's number is that fleet's.
    """
    taken = _numbers_in_use() | {record.number for record in records.load_all()} | fabric.subnets_in_use()
    last = records.last_number()
    count = LAST_NUMBER - FIRST_NUMBER + 1
    for step in range(count):
        number = FIRST_NUMBER + (last - FIRST_NUMBER + 1 + step) % count
        if number not in taken:
            records.remember_number(number)
            return number
    raise LabError(f"all {count} fleet numbers are in use: end some fleets with `gpuaas-lab down`")
