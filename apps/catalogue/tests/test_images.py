"""Recipes, layers and the cache of images, and the program that starts vLLM."""

import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from gpuaas_catalogue.images.cache import BuildCache
from gpuaas_catalogue.images.debian import PACKAGES, read_base
from gpuaas_catalogue.images.errors import BuildFailed
from gpuaas_catalogue.images.layers import write_layer
from gpuaas_catalogue.images.recipes import load_recipe
from gpuaas_catalogue.manifests import APPS, app_names, recipe_of


def test_every_requirement_is_pinned_with_hashes_and_names_no_host() -> None:
    for app in app_names():
        recipe = recipe_of(app)
        assert recipe is not None
        text = recipe.requirements.read_text()
        pinned = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
        assert pinned
        assert all(re.fullmatch(r"[a-z0-9._-]+(\[[a-z0-9,-]+\])?==[^ ]+( ;.*)? \\", line) for line in pinned), app
        assert "://" not in text
        assert text.count("--hash=sha256:") >= len(pinned)


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
        load_recipe(tmp_path)


def _vllm_launcher() -> Any:
    folders = [APPS / "vllm/files/opt/launch", APPS.parent / "images/files/opt/launch"]
    sys.path[:0] = map(str, folders)
    try:
        spec = importlib.util.spec_from_file_location("vllm_launcher", folders[0] / "launch.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        del sys.path[:2]


def test_vllm_uses_all_gpus_of_its_container_unless_told_otherwise() -> None:
    launcher = _vllm_launcher()
    devices = ["nvidia0", "nvidia1", "nvidia3", "nvidiactl", "nvidia-uvm", "null"]
    assert launcher.count_gpus(devices, {}) == 3
    assert launcher.count_gpus(devices, {"CUDA_VISIBLE_DEVICES": "0,1"}) == 2
    answers = ["--model=/models/model", "--served-model-name", "tiny", "--max-model-len", "512"]
    command = launcher.command_of(launcher.read_options(answers), 3)
    assert command[:3] == ["vllm", "serve", "/models/model"]
    assert {"--tensor-parallel-size=3", "--served-model-name=tiny", "--max-model-len=512"} <= set(command)
    assert not any("api-key" in word for word in command)
    one = launcher.command_of(launcher.read_options([*answers, "--tensor-parallel-size=1"]), 3)
    assert "--tensor-parallel-size=1" in one


def test_a_base_is_the_files_of_its_packages_and_nothing_that_the_installation_left(tmp_path: Path) -> None:
    lower, upper = tmp_path / "lower", tmp_path / "upper"
    listed = {name: [f"/usr/bin/{name}"] for name in PACKAGES} | {
        "libc6": ["/lib/libc.so", "/usr/share/doc/libc6/changelog"]
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
