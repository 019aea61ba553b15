"""JupyterLab and a served model through the platform: published, launched by the container controller, used, and gone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuaas_lab import CONTAINER_ENGINE
from gpuaas_sdk import NewInstance, Placement
from system_support.catalogue import proofs
from system_support.catalogue.images import image_of
from system_support.catalogue.lab_containers import RunningContainer
from system_support.catalogue.published_apps import publish_app
from system_support.catalogue.tiny_model import tiny_model
from system_support.container_lab import ContainerLab, web_image
from system_support.echo_lab import at_work
from system_support.lab_site import LabApp, lab_site

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]
controller = pytest.importorskip("gpuaas_containers.controller", reason="the container controller is not installed")


@pytest.fixture(scope="module")
def lab() -> Iterator[LabApp]:
    with lab_site("jupyter", 1, CONTAINER_ENGINE, registry=True) as (sandbox, fleet):
        app = LabApp(sandbox, "jupyter")
        app.settle_on(fleet)
        yield app


def test_a_person_launches_jupyter_and_computes_in_it_until_it_is_gone(lab: LabApp, tmp_path: Path) -> None:
    admin, [host] = lab.sandbox.admin, lab.hosts
    version = publish_app(lab, "jupyter", image_of("jupyter"), tmp_path)
    placement = [Placement(component_key="notebook", allocation_id=lab.places[0])]
    new = NewInstance(app="jupyter", name="lab", placement_intent=placement, inputs={}, when_no_controller="queue")
    started = admin.instances.create(lab.project_id, new)
    instance = started.instance.id
    with at_work(controller.Containers(), lab.controller("replica-1")):
        lab.succeeds(started.operation, 300.0)
        shown = admin.instances.show(lab.project_id, instance)
        assert (shown.status, shown.digest, shown.version) == ("running", image_of("jupyter").digest, version.version)
        [name] = host.run(["podman", "ps", "--format", "{{.Names}}"]).stdout.split()
        running = RunningContainer(host, name)
        notebook = running.endpoint_with_token(8888)
        assert proofs.execute_in_kernel(notebook, "open('/data/kept', 'w').write('x'); 1 + 1") == "2"
        assert notebook.get("/api/kernels", token="guessed").status_code == 403
        lab.verb(instance, "restart")
        assert running.endpoint_with_token(8888) == notebook, "the token is kept with the volume"
        assert proofs.execute_in_kernel(notebook, "open('/data/kept').read()") == "'x'"
        lab.torn_down(instance)
    assert host.run(["podman", "ps", "--all", "--quiet"]).stdout == ""
    assert host.run(["podman", "volume", "ls", "--quiet"]).stdout == ""


def test_a_model_is_served_from_weights_that_the_host_downloads_itself(lab: LabApp, tmp_path: Path) -> None:
    serving, [host] = LabApp(lab.sandbox, "serving"), lab.hosts
    weights = tmp_path / "tiny.gguf"
    weights.write_bytes(tiny_model())
    publish_app(serving, "serving", image_of("serving"), tmp_path, weights=weights)
    placement = [Placement(component_key="engine", allocation_id=lab.places[0])]
    inputs: dict[str, object] = {"served_model_name": "tiny", "max_model_len": 512}
    new = NewInstance(app="serving", name="chat", placement_intent=placement, inputs=inputs, when_no_controller="queue")
    started = lab.sandbox.admin.instances.create(lab.project_id, new)
    reader = controller.Containers()
    reader.health_seconds = 0.5  # so often it reads what the host has counted
    with at_work(reader, serving.controller("replica-2")):
        serving.succeeds(started.operation, 300.0)
        [name] = host.run(["podman", "ps", "--format", "{{.Names}}"]).stdout.split()
        engine = RunningContainer(host, name).endpoint_with_token(8000)
        answer = proofs.chat_streaming(engine, "tiny", "What is a GPU?", 16)
        assert answer.pieces > 1
        assert proofs.counters(engine)["llamacpp:tokens_predicted_total"] == answer.completion_tokens
        host.run(["systemctl", "start", f"{name}-meter.service"])  # as its timer does now and then
        lab.used(started.instance.id, completion_tokens=answer.completion_tokens)
        more = proofs.chat(engine, "tiny", "And what is a DPU?", 8)
        serving.torn_down(started.instance.id)
    totals = lab.used(started.instance.id, completion_tokens=answer.completion_tokens + more.completion_tokens)
    assert totals["prompt_tokens"] >= more.prompt_tokens > 0
    assert totals["container_seconds"] >= 1
    left = host.run(["find", "/var/lib/gpuaas-containers", "/var/lib/gpuaas-apps"], check=False).stdout
    assert left == ""


def test_a_person_runs_an_image_of_the_project_by_its_digest_and_ports(lab: LabApp, tmp_path: Path) -> None:
    anything, [host] = ContainerLab(lab.sandbox, "any-image"), lab.hosts
    publish_app(anything, "any-image", image_of("any-image"), tmp_path)
    image = web_image("mine")
    anything.push(image)
    placement = [Placement(component_key="container", allocation_id=lab.places[0])]
    inputs: dict[str, object] = {"image": image.digest, "ports": [80]}
    new = NewInstance(
        app="any-image", name="own", placement_intent=placement, inputs=inputs, when_no_controller="queue"
    )
    started = lab.sandbox.admin.instances.create(lab.project_id, new)
    with at_work(controller.Containers(), anything.controller("replica-3")):
        anything.succeeds(started.operation, 300.0)
        assert lab.sandbox.admin.instances.show(lab.project_id, started.instance.id).digest == image.digest
        assert proofs.Endpoint(host.address, 8080).get("/greeting").text == "mine"
        anything.torn_down(started.instance.id)
