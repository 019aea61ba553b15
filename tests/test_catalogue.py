"""The apps of the catalogue: their manifests pass the server's own check, and hostile answers of their forms do not."""

import re

import jsonschema_rs
import pytest

from gpuaas_catalogue.manifests import app_names, manifest_of, places_of
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
        if app != "any-image":  # what people bring has its own user
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
        ("any-image", {"image": "debian:latest"}),
        ("any-image", {"ports": []}),
        ("any-image", {"command": "rm -rf /"}),
        ("any-image", {"privileged": True}),
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
