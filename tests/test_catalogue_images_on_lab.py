"""Images of the catalogue on a real host: built by recipe, pulled by digest, run by podman as the manifest says, and used."""

import hashlib
import json
import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import yaml

from gpuaas_catalogue.manifests import manifest_of
from gpuaas_lab import CONTAINER_ENGINE, Fleet, Host
from system_support.catalogue import proofs
from system_support.catalogue.images import image_of
from system_support.catalogue.lab_containers import LabRegistry, RunningContainer, container, lab_registry
from system_support.catalogue.tiny_model import tiny_model

READ_PAGE = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=30).read().decode())"
NO_DIGEST = f"sha256:{'0' * 64}"
pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    with Fleet(name=f"catalogue-{os.getpid()}", hosts=1, layer=CONTAINER_ENGINE) as fleet:
        yield fleet


@pytest.fixture(scope="module")
def host(fleet: Fleet) -> Host:
    return fleet.hosts[0]


@pytest.fixture(scope="module")
def registry(fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabRegistry]:
    with lab_registry(f"{fleet.gateway}:5000", tmp_path_factory.mktemp("registry")) as registry:
        yield registry


def _published(registry: LabRegistry, app: str, **digests: str) -> tuple[str, dict[str, Any]]:
    """Return the image's reference and the profile of the app's manifest."""
    image = image_of(app)
    manifest: dict[str, Any] = yaml.safe_load(manifest_of(app, {"image": image.digest, **digests}))
    return registry.push(f"catalogue/{app}", image), manifest["runtime_profile"]


def _assert_hidden(running: RunningContainer, token: str) -> None:
    """Check that the token is in no list of processes, in no log and in nothing that the engine tells about the container."""
    told = running.log() + running.host.run(["podman", "inspect", running.name]).stdout
    assert len(token) >= 40
    assert token not in told + running.host.run(["ps", "-ewwo", "args"]).stdout


def _assert_says_its_version(running: RunningContainer, app: str) -> None:
    """Without a token, at the page that the manifest names, the program says the version that the manifest declares."""
    manifest = yaml.safe_load(manifest_of(app, {"image": NO_DIGEST, "weights": NO_DIGEST}))
    page = manifest["runtime_profile"]["runtime_version_from"]
    address = f"http://127.0.0.1:{page['port']}{page['path']}"
    said = running.run("/opt/app/bin/python3", "-c", READ_PAGE, address).strip()
    assert (json.loads(said)[page["field"]] if "field" in page else said) == manifest["runtime_version"]


def test_jupyterlab_executes_code_in_a_kernel_for_who_has_the_token(host: Host, registry: LabRegistry) -> None:
    reference, profile = _published(registry, "jupyter")
    with container(host, reference, profile, {}) as running:
        running.wait_until_ready(8888, "/api")
        lab = running.endpoint_with_token(8888)
        assert proofs.execute_in_kernel(lab, "import os; (1 + 1, os.getuid(), os.getcwd())") == "(2, 1000, '/data')"
        assert lab.get("/api/status").json()["kernels"] == 0
        assert lab.get("/lab").status_code == 200
        assert lab.get("/api/kernels", token="guessed").status_code == 403
        assert lab.get("/api/kernels", token="").status_code == 403
        _assert_says_its_version(running, "jupyter")
        _assert_hidden(running, lab.token)


def test_the_serving_app_answers_the_openai_client_and_counts_its_tokens(host: Host, registry: LabRegistry) -> None:
    weights = tiny_model()
    digest = f"sha256:{hashlib.sha256(weights).hexdigest()}"
    reference, profile = _published(registry, "serving", weights=digest)
    file = host.plain_folder("/var/lib/containers") / "tiny.gguf"
    file.write_bytes(weights)
    answers = {"served_model_name": "tiny", "max_model_len": 512, "max_num_seqs": 2}
    with container(host, reference, profile, answers, {digest: "/var/lib/containers/tiny.gguf"}) as running:
        running.wait_until_ready(8000, "/health")
        engine = running.endpoint_with_token(8000)
        whole = proofs.chat(engine, "tiny", "What is a GPU?", 24)
        streamed = proofs.chat_streaming(engine, "tiny", "What is a GPU?", 24)
        assert 1 <= whole.completion_tokens <= 24
        assert (streamed.text, streamed.completion_tokens) == (whole.text, whole.completion_tokens)
        assert streamed.pieces > 1
        counted = proofs.counters(engine)
        assert counted["llamacpp:tokens_predicted_total"] == whole.completion_tokens + streamed.completion_tokens
        assert counted["llamacpp:prompt_tokens_total"] >= whole.prompt_tokens
        assert proofs.is_refused(running.endpoint(8000, "guessed"), "tiny")
        _assert_says_its_version(running, "serving")
        _assert_hidden(running, engine.token)


def test_marimo_opens_only_with_its_token(host: Host, registry: LabRegistry) -> None:
    reference, profile = _published(registry, "marimo")
    with container(host, reference, profile, {}) as running:
        running.wait_until_ready(2718, "/health")
        marimo = running.endpoint_with_token(2718)
        assert proofs.marimo_files(marimo) == []
        assert not proofs.opens_marimo(running.endpoint(2718, "guessed"))
        _assert_hidden(running, marimo.token)


def test_tensorboard_shows_the_numbers_of_a_run_only_with_its_token(host: Host, registry: LabRegistry) -> None:
    reference, profile = _published(registry, "tensorboard")
    with container(host, reference, profile, {}) as running:
        running.wait_until_ready(6006, "/healthz")
        board = running.endpoint_with_token(6006)
        running.run("/opt/app/bin/python3", "-c", proofs.WRITE_A_RUN)
        assert proofs.scalars(board, "first", "loss") == [(1, 0.5), (2, 0.25)]
        for guessed in ("", "guessed"):
            assert board.get("/data/runs", token=guessed).status_code == 401
        _assert_says_its_version(running, "tensorboard")
        opened = httpx.get(f"{board.url}/?token={board.token}", follow_redirects=False, timeout=proofs.HANG)
        assert (opened.status_code, opened.headers["location"]) == (303, "/")
        cookie = opened.headers["set-cookie"].partition(";")[0]
        assert httpx.get(f"{board.url}/data/runs", headers={"Cookie": cookie}, timeout=proofs.HANG).json() == ["first"]
        _assert_hidden(running, board.token)
