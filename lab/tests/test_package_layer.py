"""More packages on the hosts of a fleet, as a layer that is built once."""

import os
from pathlib import Path

import pytest

from gpuaas_lab import Fleet, PackageLayer, caches, guest_disk, hardware_layer, package_layer, rootfs
from gpuaas_lab.layout import FleetLayout

EXTRA = PackageLayer("test-extra", ("tree", "rsync"))


@pytest.mark.lab
def test_hosts_have_the_packages_of_their_layer_and_nothing_of_them_runs() -> None:
    said: list[str] = []
    with Fleet(name=f"layer-{os.getpid()}", hosts=1, layer=EXTRA, progress=said.append) as fleet:
        [host] = fleet.hosts
        assert host.run(["tree", "--version"]).stdout.startswith("tree")
        assert host.run(["systemctl", "is-enabled", "rsync.service"], check=False).stdout.strip() == "disabled"
        assert host.run(["systemctl", "is-system-running", "--wait"], check=False).stdout.strip() == "running"
        assert host.read_file("/etc/resolv.conf") == ""  # what the building needed is not in the layer
        assert not (host.upper / "usr/bin").exists()  # the packages are not what the host did itself
    assert not list(EXTRA.path.parent.glob("*.building"))


@pytest.mark.lab
def test_a_fleet_without_a_layer_has_none_of_its_packages(fleet: Fleet) -> None:
    assert fleet.hosts[0].run(["which", "tree"], check=False).returncode != 0


def test_layers_over_an_earlier_root_file_system_go_and_the_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package_layer, "LAYERS_DIR", tmp_path / "layers")
    for cache in (rootfs, hardware_layer, guest_disk):
        monkeypatch.setattr(cache, "all_cached", list)
    monkeypatch.setattr(caches, "FLEETS_DIR", tmp_path / "fleets")
    monkeypatch.setattr("gpuaas_lab.records.RUN_DIR", tmp_path / "run")
    monkeypatch.setattr(caches, "LOCK", tmp_path / "lock")
    old, used = tmp_path / "layers/0000-aaaa", tmp_path / "layers/0000-bbbb"
    for folder in (EXTRA.path, old, used):
        folder.mkdir(parents=True)
    other = tmp_path / "fleets/other"
    other.mkdir(parents=True)
    (other / "layers.json").write_text(f'["{used}"]')
    assert caches.prune() == [old]
    assert set(package_layer.all_cached()) == {EXTRA.path, used}


def test_a_fleet_says_that_it_uses_its_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuaas_lab.layout.FLEETS_DIR", tmp_path)
    monkeypatch.setattr(package_layer, "LAYERS_DIR", tmp_path / "layers")
    monkeypatch.setattr(rootfs, "ROOTFS_DIR", tmp_path / "rootfs")
    monkeypatch.setattr(hardware_layer, "HARDWARE_DIR", tmp_path / "hardware")
    caches.note_use(FleetLayout("noted", 1, 1, 8), EXTRA)
    assert str(EXTRA.path) in (tmp_path / "noted/layers.json").read_text()
