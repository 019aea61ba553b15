"""The apps of the catalogue: their manifests pass the server's own check, and their images are the same bytes each time."""

import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from gpuaas_catalogue.images.cache import BuildCache
from gpuaas_catalogue.images.errors import BuildFailed
from gpuaas_catalogue.images.layers import write_layer
from gpuaas_catalogue.images.recipes import load_recipe
from gpuaas_catalogue.manifests import APPS, app_names, manifest_of, places_of, recipe_of
from gpuaas_server.catalog.manifest import digests_of, parse

DIGESTS = {name: f"sha256:{letter * 64}" for name, letter in (("image", "a"), ("weights", "b"))}


def test_every_manifest_passes_the_servers_check_and_names_its_digests() -> None:
    assert {"jupyter", "marimo", "serving", "tensorboard", "vllm"} <= set(app_names())
    for app in app_names():
        manifest = parse(manifest_of(app, DIGESTS))
        assert manifest.runtime_profile is not None
        assert manifest.artifact.kind == "launchable"
        further = [DIGESTS[place] for place in places_of(app) if place != "image"]
        assert digests_of(manifest.document) == (DIGESTS["image"], *further)
        assert any("readiness" in probe.purpose for probe in manifest.probes), app
        assert manifest.runtime_profile["user"]["uid"] == 1000
        assert manifest.runtime_profile["read_only_root"], app


def test_another_digest_is_another_version_and_a_wrong_one_is_refused() -> None:
    first, second = (parse(manifest_of("serving", {**DIGESTS, "weights": f"sha256:{one * 64}"})) for one in "cd")
    assert first.version != second.version
    assert re.fullmatch(r"1\.0\.0\+build\.[0-9a-f]{12}", first.version)
    for wrong in (
        {},
        {"image": DIGESTS["image"]},
        {**DIGESTS, "weights": "latest"},
        {**DIGESTS, "weights": 'sha256:"\n'},
    ):
        with pytest.raises(ValueError, match="needs a digest for"):
            manifest_of("serving", wrong)


@pytest.mark.parametrize(
    ("app", "inputs"),
    [
        ("jupyter", {"password_hash": "secret"}),
        ("jupyter", {"password_hash": "argon2:$argon2id$v=19$m=10240,t=10,p=8$" + "A" * 22 + "$" + "B" * 43 + "\nX=1"}),
        ("jupyter", {"token": "mine"}),
        ("serving", {"served_model_name": "--api-key=none"}),
        ("serving", {"served_model_name": "a b; rm -rf /"}),
        ("serving", {"max_model_len": "$(id)"}),
        ("vllm", {"tensor_parallel_size": -1}),
        ("vllm", {"dtype": "auto --trust-remote-code"}),
        ("vllm", {"model": "/etc"}),
    ],
)
def test_a_hostile_answer_of_a_form_is_refused(app: str, inputs: dict[str, object]) -> None:
    schema = parse(manifest_of(app, DIGESTS)).inputs
    assert not jsonschema_rs.Draft202012Validator(schema).is_valid(inputs)


def test_the_hash_that_jupyter_writes_is_taken() -> None:
    schema = parse(manifest_of("jupyter", DIGESTS)).inputs
    written = (
        "argon2:$argon2id$v=19$m=10240,t=10,p=8$Hl0Y1bDdBqHCPhMyhL3ccQ$Pr4uUmkeFMnLlCPpJjJqFLDPaF5lZVTBRWLQmTSCvQk"
    )
    assert jsonschema_rs.Draft202012Validator(schema).is_valid({"password_hash": written})


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
