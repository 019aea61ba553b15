"""What earlier recipes left on the disk goes when no fleet uses it, and not before."""

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest

from gpuaas_lab import caches, guest_disk, hardware_layer, package_layer, records, rootfs
from gpuaas_lab.files import KEPT_SECONDS, used_stamp
from gpuaas_lab.layout import FleetLayout


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with caches of this recipe and of an earlier one."""
    monkeypatch.setattr(rootfs, "ROOTFS_DIR", tmp_path / "rootfs")
    monkeypatch.setattr(hardware_layer, "HARDWARE_DIR", tmp_path / "hardware")
    monkeypatch.setattr(hardware_layer, "_PARTIAL", tmp_path / "hardware/partial")
    monkeypatch.setattr(package_layer, "LAYERS_DIR", tmp_path / "layers")
    monkeypatch.setattr(guest_disk, "GUEST_DISKS_DIR", tmp_path / "guest-disks")
    monkeypatch.setattr(caches, "FLEETS_DIR", tmp_path / "fleets")
    monkeypatch.setattr("gpuaas_lab.layout.FLEETS_DIR", tmp_path / "fleets")
    monkeypatch.setattr(caches, "LOCK", tmp_path / "lock")
    monkeypatch.setattr(records, "RUN_DIR", tmp_path / "run")
    for folder in (rootfs.path(), hardware_layer.path(8), tmp_path / "rootfs/old", tmp_path / "hardware/old"):
        (folder / "etc").mkdir(parents=True)
    return tmp_path


def _fleet(data: Path, note: str) -> None:
    folder = data / "fleets/other"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "layers.json").write_text(note)


def test_earlier_recipes_go_and_this_one_stays(data: Path) -> None:
    assert set(caches.prune()) == {data / "rootfs/old", data / "hardware/old"}
    assert rootfs.all_cached() == [rootfs.path()]
    assert hardware_layer.all_cached() == [hardware_layer.path(8)]
    assert caches.prune() == []


def test_what_a_fleet_uses_stays_until_the_fleet_is_gone(data: Path) -> None:
    _fleet(data, json.dumps([str(data / "rootfs/old"), str(data / "hardware/old")]))
    assert caches.prune() == []
    (data / "fleets/other/layers.json").unlink()
    (data / "fleets/other").rmdir()
    assert len(caches.prune()) == 2


def test_nothing_goes_while_a_fleet_does_not_say_what_it_uses(data: Path) -> None:
    _fleet(data, "")
    assert caches.prune() == []


def test_what_another_checkout_used_today_stays_though_it_has_no_fleet_now(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else two checkouts with different recipes would build theirs anew for every fleet."""
    with monkeypatch.context() as other_checkout:
        other_checkout.setattr(rootfs, "recipe_hash", lambda: "old")
        caches.note_use(FleetLayout("other", 1, 1, 8))
    (data / "fleets/other/layers.json").unlink()
    (data / "fleets/other").rmdir()
    assert caches.prune() == [data / "hardware/old"]
    stamp = data / "rootfs/old.used"
    before = stamp.stat().st_mtime - KEPT_SECONDS
    os.utime(stamp, (before, before))
    assert caches.prune() == [data / "rootfs/old"]
    assert not stamp.exists()


def test_a_guests_disk_of_an_earlier_recipe_goes_a_day_after_its_last_use(data: Path) -> None:
    old = data / "guest-disks/old"
    for folder in (old, guest_disk.path()):
        folder.mkdir(parents=True)
    guest_disk.ensure(print)
    stamp = used_stamp(old)
    stamp.touch()
    assert old not in caches.prune()
    before = stamp.stat().st_mtime - KEPT_SECONDS
    os.utime(stamp, (before, before))
    assert caches.prune() == [old]
    assert [one for one in old.parent.iterdir() if one.is_dir()] == [guest_disk.path()]


def test_a_fleet_of_a_later_lab_counts_though_its_record_says_more(data: Path) -> None:
    record = records.FleetRecord.of_this_process(FleetLayout("later", 7, 1, 8))
    (data / "run").mkdir()
    (data / "run/later.json").write_text(json.dumps({**asdict(record), "colour": "green"}))
    assert records.load_all() == [record]
