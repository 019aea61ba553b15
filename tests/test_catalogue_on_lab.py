"""JupyterLab and a served model through the platform: published, launched by the container controller, used, and gone."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuaas_catalogue.images.layouts import ImageLayout
from gpuaas_catalogue.publication import Publication
from gpuaas_lab import CONTAINER_ENGINE
from gpuaas_sdk import AppVersion, GpuaasError, NewInstance, Placement
from system_support.catalogue import proofs
from system_support.catalogue.images import image_of
from system_support.catalogue.lab_containers import RunningContainer
from system_support.catalogue.tiny_model import tiny_model
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


def _published(lab: LabApp, app: str, image: ImageLayout, folder: Path, **files: Path) -> AppVersion:
    """The registry starts beside the API and may need a moment longer; a publication can be repeated."""
    ca_file = folder / "ca.pem"
    keys = lab.sandbox.admin.platform_keys.list()
    ca_file.write_text("".join(key.certificate or "" for key in keys if key.kind == "tls_ca"))
    publication = Publication(lab.sandbox.admin, lab.project_id, "ran on a lab host", str(ca_file))
    deadline = time.monotonic() + 60
    while True:
        try:
            return publication.publish(app, image, files)
        except GpuaasError as error:
            if not error.problem.retryable or time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def test_a_person_launches_jupyter_and_computes_in_it_until_it_is_gone(lab: LabApp, tmp_path: Path) -> None:
    admin, [host] = lab.sandbox.admin, lab.hosts
    version = _published(lab, "jupyter", image_of("jupyter"), tmp_path)
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
    _published(serving, "serving", image_of("serving"), tmp_path, weights=weights)
    placement = [Placement(component_key="engine", allocation_id=lab.places[0])]
    inputs: dict[str, object] = {"served_model_name": "tiny", "max_model_len": 512}
    new = NewInstance(app="serving", name="chat", placement_intent=placement, inputs=inputs, when_no_controller="queue")
    started = lab.sandbox.admin.instances.create(lab.project_id, new)
    with at_work(controller.Containers(), serving.controller("replica-2")):
        serving.succeeds(started.operation, 300.0)
        [name] = host.run(["podman", "ps", "--format", "{{.Names}}"]).stdout.split()
        engine = RunningContainer(host, name).endpoint_with_token(8000)
        answer = proofs.chat_streaming(engine, "tiny", "What is a GPU?", 16)
        assert answer.pieces > 1
        assert proofs.counters(engine)["llamacpp:tokens_predicted_total"] == answer.completion_tokens
        serving.torn_down(started.instance.id)
    left = host.run(["find", "/var/lib/gpuaas-containers", "/var/lib/gpuaas-apps"], check=False).stdout
    assert left == ""
