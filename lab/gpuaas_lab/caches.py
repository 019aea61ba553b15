"""Removes root file systems, layers and disks of earlier recipes, one day after they were last used.

Each fleet's folder lists the layers of its hosts' disks, for as long as the fleet exists. The delay is for other checkouts
on this machine with another recipe, which must not rebuild their layers for every fleet.
"""

import json
from pathlib import Path

from gpuaas_lab import guest_disk, hardware_layer, package_layer, records, rootfs
from gpuaas_lab.built_folder import BuiltFolder
from gpuaas_lab.errors import LabError
from gpuaas_lab.files import locked, used_lately, used_stamp
from gpuaas_lab.layout import FLEETS_DIR, MAX_GPUS, FleetLayout
from gpuaas_lab.package_layer import PackageLayer
from gpuaas_lab.records import LOCK

_NOTE = "layers.json"


def note_use(layout: FleetLayout, layer: PackageLayer | None = None) -> None:
    """Record that a fleet uses a folder. Caller must hold the lab's lock."""
    used = [rootfs.path(), hardware_layer.path(layout.gpus_per_host), *([layer.path] if layer else [])]
    layout.directory.mkdir(parents=True, exist_ok=True)
    (layout.directory / _NOTE).write_text(json.dumps([str(folder) for folder in used]) + "\n")
    for folder in used:
        folder.parent.mkdir(parents=True, exist_ok=True)
        used_stamp(folder).touch()


def prune() -> list[Path]:
    """Remove what neither this recipe nor a fleet uses; do nothing if the lab is busy."""
    try:
        with locked(LOCK, 0.0, "another lab command"):
            return _prune()
    except LabError:
        return []


def _prune() -> list[Path]:
    used = _used_by_fleets()
    if used is None:
        return []
    removed: list[Path] = []
    used |= {folder for folder in _all_cached() if used_lately(used_stamp(folder))}
    for folder in set(rootfs.all_cached()) - {rootfs.path()} - used:
        removed += [folder] * BuiltFolder(folder).discard()
    current = {hardware_layer.path(count) for count in range(MAX_GPUS + 1)}
    for folder in set(hardware_layer.all_cached()) - current - used:
        hardware_layer.discard_cached(folder)
        removed.append(folder)
    for folder in {one for one in package_layer.all_cached() if package_layer.of_earlier_root(one)} - used:
        removed += [folder] * BuiltFolder(folder).discard()
    for folder in set(guest_disk.all_cached()) - {guest_disk.path()} - used:
        removed += [folder] * BuiltFolder(folder).discard()
    for folder in removed:
        used_stamp(folder).unlink(missing_ok=True)
    return removed


def _all_cached() -> list[Path]:
    layers = [*hardware_layer.all_cached(), *package_layer.all_cached()]
    return [*rootfs.all_cached(), *layers, *guest_disk.all_cached()]


def _used_by_fleets() -> set[Path] | None:
    """Return the layers that fleets use; None if a fleet does not list them, because all may be in use then."""
    used: set[Path] = set()
    names = {record.name for record in records.load_all()} | {folder.name for folder in FLEETS_DIR.glob("*")}
    for name in names:
        try:
            used.update(Path(text) for text in json.loads((FLEETS_DIR / name / _NOTE).read_text()))
        except (OSError, ValueError):
            return None
    return used
