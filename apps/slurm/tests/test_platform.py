"""Slurm as the platform's own app: the bundle of its packages is built where it is missing, and checked before publication."""

import hashlib
import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from gpuaas_sdk.platform_apps import AppNotReady, PlatformApp
from gpuaas_slurm.platform import check_bundle, platform_app

# Plans two packages, and downloads those that it is told to: from a folder, as apt does from a mirror.
APT = """#!/bin/sh
[ ! -e {folder}/broken ] || {{ echo "E: no mirror" >&2; exit 100; }}
case " $* " in
*" download "*) for one in "$@"; do case "$one" in *=*) cp {folder}/${{one%%=*}}_1_all.deb . ;; esac; done ;;
*) grep -q "Package: munge" {folder}/status || echo "Inst munge (1 mirror [all])"
   echo "Inst slurmctld (1 mirror [all])" ;;
esac
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose apt has two packages, in a folder with the bundle and the status of a host."""
    for name in ("munge", "slurmctld"):
        root = tmp_path / name
        (root / "DEBIAN").mkdir(parents=True)
        (root / "usr/sbin").mkdir(parents=True)
        (root / "usr/sbin" / name).write_text(name)
        (root / "DEBIAN/control").write_text(
            f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: a <a@example.test>\nDescription: a\n"
        )
        subprocess.run(["dpkg-deb", "--build", root, tmp_path / f"{name}_1_all.deb"], check=True, capture_output=True)
    (tmp_path / "bin").mkdir()
    apt = tmp_path / "bin/apt-get"
    apt.write_text(APT.format(folder=tmp_path))
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("GPUAAS_SLURM_BUNDLE", str(tmp_path / "bundles/slurm.tar"))
    monkeypatch.setenv("GPUAAS_SLURM_HOST_STATUS", str(tmp_path / "status"))
    return tmp_path


def prepared(app: PlatformApp) -> subprocess.CompletedProcess[str]:
    return subprocess.run(app.prepare, capture_output=True, text=True, check=False)


def test_without_packages_and_without_a_host_it_says_what_to_do(machine: Path) -> None:
    with pytest.raises(AppNotReady, match=r"put the dpkg status of a host without apps at .*/status"):
        platform_app()


def test_packages_that_a_host_lacks_are_bundled_by_the_command_that_it_names(machine: Path) -> None:
    (machine / "status").write_text("Package: munge\n")
    app = platform_app()
    assert (app.display_name, app.manifest, app.artifact) == ("Slurm", "", None)
    done = prepared(app)
    assert done.returncode == 0, done.stderr
    app = platform_app()
    assert (app.slug, app.display_name, app.prepare, app.artifact) == (
        "slurm",
        "Slurm",
        (),
        machine / "bundles/slurm.tar",
    )
    with tarfile.open(machine / "bundles/slurm.tar") as bundle:
        assert bundle.getnames() == ["Packages", "slurmctld_1_all.deb"]
    assert app.digest() == done.stdout.strip()
    assert app.digest() in app.manifest_of(app.digest())
    assert check_bundle(machine / "bundles/slurm.tar")["smoke"] == "slurmctld_1_all.deb contains slurmctld."


def test_the_same_packages_make_the_same_bundle(machine: Path) -> None:
    (machine / "status").write_text("")
    command = platform_app().prepare
    digests = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert digests[0] == digests[1]


def test_a_preparation_that_fails_leaves_no_half_of_a_bundle_and_can_be_repeated(machine: Path) -> None:
    (machine / "status").write_text("")
    (machine / "broken").touch()
    failed = prepared(platform_app())
    assert (failed.returncode == 0, "no mirror" in failed.stderr) == (False, True)
    assert platform_app().prepare
    (machine / "broken").unlink()
    assert prepared(platform_app()).returncode == 0
    assert platform_app().prepare == ()
    assert os.listdir(machine / "bundles") == ["slurm.tar"]


@pytest.mark.parametrize(
    ("name", "why"), [("slurmctld_1_all.deb", "do not match"), ("other_1_all.deb", "has no slurmctld")]
)
def test_a_bundle_that_was_damaged_or_has_no_scheduler_is_not_published(machine: Path, name: str, why: str) -> None:
    content = b"not a package"
    listed = content if name.startswith("other") else b"another"
    bundle = machine / "bundle.tar"
    with tarfile.open(bundle, "w") as archive:
        index = f"SHA256: {hashlib.sha256(listed).hexdigest()}\n".encode()
        for member, data in (("Packages", index), (name, content)):
            entry = tarfile.TarInfo(member)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    with pytest.raises(AppNotReady, match=why):
        check_bundle(bundle)
