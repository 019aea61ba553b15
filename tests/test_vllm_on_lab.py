"""vLLM itself through the platform, on the processors of a lab host: published, launched, used by the real client, and gone.

The image has gigabytes, so that this is in the slow tier. What it needs of the machine is said first.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from gpuaas_containers.controller import Containers
from gpuaas_lab import CONTAINER_ENGINE
from gpuaas_lab.errors import CommandFailed
from gpuaas_lab.layout import DATA_DIR
from gpuaas_sdk import NewInstance, Placement
from system_support.catalogue import proofs
from system_support.catalogue.images import image_of
from system_support.catalogue.lab_containers import RunningContainer
from system_support.catalogue.published_apps import publish_app
from system_support.catalogue.tiny_model_folder import tiny_model_archive
from system_support.container_lab import NOTHING, engine_lists
from system_support.echo_lab import at_work
from system_support.lab_site import LabApp, lab_site

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(3600)]
GIB = 1024**3
# Hosts of the lab have no bounds of their own: they share the machine's disk and memory. The disk holds the image while it is
# built, in the cache, in the registry and on the host; the memory is that of vLLM's three processes and their cache.
DISK, MEMORY = 30 * GIB, 6 * GIB
LAUNCH_SECONDS = 1800.0
PORT = 8000


@pytest.fixture(scope="module")
def lab() -> Iterator[LabApp]:
    assert shutil.disk_usage(DATA_DIR).free >= DISK, f"this test needs {DISK // GIB} GiB of free disk"
    assert psutil.virtual_memory().available >= MEMORY, f"this test needs {MEMORY // GIB} GiB of free memory"
    with lab_site("vllm", 1, CONTAINER_ENGINE, registry=True) as (sandbox, fleet):
        app = LabApp(sandbox, "vllm-cpu")
        app.settle_on(fleet)
        yield app


def test_vllm_serves_a_model_to_the_openai_client_until_it_is_gone(lab: LabApp, tmp_path: Path) -> None:
    admin, [host] = lab.sandbox.admin, lab.hosts
    weights = tmp_path / "model.tar"
    weights.write_bytes(tiny_model_archive())
    version = publish_app(lab, "vllm-cpu", image_of("vllm-cpu"), tmp_path, weights=weights)
    placement = [Placement(component_key="engine", allocation_id=lab.places[0])]
    inputs: dict[str, object] = {
        "served_model_name": "tiny",
        "max_model_len": 512,
        "max_num_seqs": 2,
        "kv_cache_gib": 1,
    }
    new = NewInstance(
        app="vllm-cpu", name="chat", placement_intent=placement, inputs=inputs, when_no_controller="queue"
    )
    started = admin.instances.create(lab.project_id, new)
    reader = Containers()
    reader.health_seconds = 0.5  # so often it reads what the host has counted
    with at_work(reader, lab.controller("replica-1")):
        lab.succeeds(started.operation, LAUNCH_SECONDS)
        shown = admin.instances.show(lab.project_id, started.instance.id)
        assert (shown.status, shown.digest, shown.version) == ("running", image_of("vllm-cpu").digest, version.version)
        [member] = admin.instances.members(lab.project_id, started.instance.id)
        assert {probe.key: probe.status for probe in member.probes} == {"answers": "passing", "counts": "passing"}
        [name] = host.run(["podman", "ps", "--format", "{{.Names}}"]).stdout.split()
        running = RunningContainer(host, name)
        engine = running.endpoint_with_token(PORT)
        tokens = _assert_it_answers_and_counts(engine)
        host.run(["systemctl", "start", f"{name}-meter.service"])  # as its timer does now and then
        lab.used(started.instance.id, requests=2, **tokens)
        _assert_only_who_has_the_token_is_served(engine)
        _assert_hidden(running, engine.token)
        with pytest.raises(CommandFailed, match="Read-only file system"):
            running.run("touch", "/models/model/more")
        lab.torn_down(started.instance.id)
    assert engine_lists(host) == NOTHING
    left = host.run(["find", "/var/lib/gpuaas-containers", "/var/lib/gpuaas-apps"], check=False).stdout
    assert left == ""


def _assert_it_answers_and_counts(engine: proofs.Endpoint) -> dict[str, int]:
    before = proofs.counters(engine)
    whole = proofs.chat(engine, "tiny", "What is a GPU?", 16)
    streamed = proofs.chat_streaming(engine, "tiny", "What is a GPU?", 24)
    assert 1 <= whole.completion_tokens <= 16
    assert 1 < streamed.pieces <= streamed.completion_tokens <= 24
    after = proofs.counters(engine)
    grown = {
        name: after[f"vllm:{name}_total"] - before.get(f"vllm:{name}_total", 0.0)
        for name in ("prompt_tokens", "generation_tokens", "request_success")
    }
    assert grown == {
        "prompt_tokens": whole.prompt_tokens + streamed.prompt_tokens,
        "generation_tokens": whole.completion_tokens + streamed.completion_tokens,
        "request_success": 2,
    }
    return {"prompt_tokens": int(grown["prompt_tokens"]), "completion_tokens": int(grown["generation_tokens"])}


def _assert_only_who_has_the_token_is_served(engine: proofs.Endpoint) -> None:
    """Every path that the server itself lists, and every method of it, is refused without the token."""
    routes = proofs.routes(engine)
    assert {("POST", "/v1/chat/completions"), ("POST", "/invocations"), ("POST", "/tokenize")} <= routes
    for token in ("", "guessed"):
        served = {route for route in routes if proofs.status_of(engine, *route, token=token) != 401}
        assert served <= {("GET", "/health"), ("GET", "/metrics"), ("GET", "/version")}
    assert proofs.is_refused(proofs.Endpoint(engine.address, engine.port, "guessed"), "tiny")


def _assert_hidden(running: RunningContainer, token: str) -> None:
    """The token is in no list of processes, in no log and in nothing that the engine tells about the container."""
    told = running.log() + running.host.run(["podman", "inspect", running.name]).stdout
    assert len(token) >= 40
    assert token not in told + running.host.run(["ps", "-ewwo", "args"]).stdout
