"""Recipes, layers and the cache of images."""

import os
import re
from pathlib import Path

import pytest
import yaml

from gpuaas_catalogue.images.cache import BuildCache
from gpuaas_catalogue.images.debian import PACKAGES, read_base
from gpuaas_catalogue.images.errors import BuildFailed
from gpuaas_catalogue.images.layers import write_layer
from gpuaas_catalogue.images.recipes import load_recipe
from gpuaas_catalogue.manifests import app_names, manifest_of, places_of, recipe_of


def test_every_requirement_is_pinned_with_hashes_and_names_no_host() -> None:
    for app in app_names():
        recipe = recipe_of(app)
        assert recipe is not None
        if recipe.requirements is None:
            continue  # the base is enough
        text = recipe.requirements.read_text()
        pinned = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
        assert pinned
        assert all(re.fullmatch(r"[a-z0-9._-]+(\[[a-z0-9,-]+\])?==[^ ]+( ;.*)? \\", line) for line in pinned), app
        assert "://" not in text
        assert text.count("--hash=sha256:") >= len(pinned)


def test_every_image_says_the_version_that_its_manifest_declares() -> None:
    for app in app_names():
        recipe = recipe_of(app)
        assert recipe is not None
        if recipe.requirements is not None:
            digests = dict.fromkeys(places_of(app), f"sha256:{'a' * 64}")
            assert recipe.runtime_version == yaml.safe_load(manifest_of(app, digests))["runtime_version"], app


def test_a_layer_has_the_same_bytes_whatever_the_machine_says_about_its_files(tmp_path: Path) -> None:
    layers = []
    for name, mode, time in (("one", 0o600, 1), ("two", 0o664, 2_000_000_000)):
        root = tmp_path / name
        (root / "data").mkdir(parents=True)
        for file in ("b", "a") if name == "one" else ("a", "b"):
            (root / file).write_text(file)
            (root / file).chmod(mode | (0o4111 if file == "b" else 0))

        os.utime(root / "a", (time, time))
        layers.append(
            write_layer(tmp_path / f"{name}.layer", root, [Path("b"), Path("a"), Path("data")], ["/data"], 1000)
        )
    assert layers[0] == layers[1]
    assert (tmp_path / "one.layer").read_bytes() == (tmp_path / "two.layer").read_bytes()


def test_a_build_that_fails_leaves_nothing_and_can_be_repeated(tmp_path: Path) -> None:
    cache, attempts = BuildCache(tmp_path), []

    def build(folder: Path) -> None:
        attempts.append(folder)
        (folder / "half").write_text("done")
        if len(attempts) == 1:
            raise BuildFailed("It broke.", "Try again.")

    with pytest.raises(BuildFailed):
        cache.ensure("app-1", build)
    assert [one.name for one in tmp_path.iterdir()] == ["app-1.lock"]
    assert cache.ensure("app-1", build) == cache.ensure("app-1", build) == tmp_path / "app-1"
    assert len(attempts) == 2


def test_a_recipe_with_a_wrong_field_is_refused(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text('title = "x"\nfrom = "debian:latest"\n')
    with pytest.raises(BuildFailed, match="from is unknown, command is missing, python is missing"):
        load_recipe("app", tmp_path)


def test_a_recipe_of_a_variant_is_that_of_its_app_with_what_differs(tmp_path: Path) -> None:
    app, variant = tmp_path / "app", tmp_path / "variant"
    _write(app, "requirements.txt", "files/opt/launch/launch.py")
    _write(variant, "requirements.txt", "files/opt/more")
    (app / "recipe.toml").write_text(
        'title = "A"\npython = "3.11"\ncommand = ["run"]\n[env]\nHOME = "/data"\nX = "1"\n'
    )
    (variant / "recipe.toml").write_text('title = "B"\npackages = ["libnuma1"]\n[env]\nX = "2"\n')
    plain, other = load_recipe("app", app), load_recipe("app-variant", app, variant)
    assert (other.title, other.command, other.packages) == ("B", ("run",), ("libnuma1",))
    assert dict(other.env) == {"HOME": "/data", "X": "2"}
    assert (plain.requirements, other.requirements) == (app / "requirements.txt", variant / "requirements.txt")
    assert {"opt/launch/launch.py", "opt/more"} <= {name for name, _ in other.own_files()}
    assert "opt/more" not in {name for name, _ in plain.own_files()}
    known = other.digest
    (app / "files/opt/launch/launch.py").write_text("changed")
    assert other.digest != known


def test_a_base_is_the_files_of_its_packages_and_nothing_that_the_installation_left(tmp_path: Path) -> None:
    lower, upper = tmp_path / "lower", tmp_path / "upper"
    listed = {name: [f"/usr/bin/{name}"] for name in PACKAGES} | {
        "libc6": ["/lib/libc.so", "/usr/share/doc/libc6/changelog"],
        "openssh-server": ["/usr/sbin/sshd"],
    }
    status = "".join(_stanza(name, "libc6 (>= 2.36), debconf | debconf-2.0") for name in PACKAGES) + _stanza(
        "libc6", ""
    )
    status += _stanza("openssh-server", "libc6")
    _write(
        lower,
        "usr/lib/libc.so",
        "usr/share/doc/libc6/changelog",
        "etc/ssh/ssh_host_key",
        "var/log/dpkg.log",
        "usr/sbin/sshd",
    )
    _write(lower, *(f"usr/bin/{name}" for name in PACKAGES if name != "libgomp1"))
    _write(upper, "usr/bin/libgomp1")
    (lower / "lib").symlink_to("usr/lib")
    for root, names in ((lower, sorted(listed)), (upper, ["libgomp1"])):
        info = root / "var/lib/dpkg/info"
        info.mkdir(parents=True)
        for name in names:
            (info / f"{name}.list").write_text("\n".join(["/.", *listed[name]]))
    (upper / "var/lib/dpkg/status").write_text(status)
    base = read_base(upper, lower)
    found = {str(path) for path in base.files()}
    assert found == {"lib", "usr/lib/libc.so", *(f"usr/bin/{name}" for name in PACKAGES)}
    assert base.source("usr/bin/libgomp1") == upper / "usr/bin/libgomp1"
    assert "openssh-server" not in base.status()
    more = base.with_packages(["openssh-server"])
    assert {str(path) for path in more.files()} - found == {"usr/sbin/sshd"}
    assert "openssh-server" in more.status()
    assert more.digest != base.digest == base.with_packages([]).digest


def test_a_base_without_a_package_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "var/lib/dpkg").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").write_text(_stanza("bash", ""))
    with pytest.raises(BuildFailed, match="lacks the package"):
        read_base(tmp_path)
    with pytest.raises(BuildFailed, match="no Debian root file system"):
        read_base(tmp_path / "nowhere")


def _stanza(name: str, needs: str) -> str:
    fields = f"Package: {name}\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n"
    return f"{fields}Depends: {needs}\n\n" if needs else f"{fields}\n"


def _write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
