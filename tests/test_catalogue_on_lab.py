"""JupyterLab and a served model through the platform: published, launched by the container controller, used, and gone."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from gpuaas_catalogue.manifests import manifest_of, required_recipe
from gpuaas_lab import CONTAINER_ENGINE
from gpuaas_sdk import AppVersion, GpuaasError, Instance, NewInstance, Placement
from gpuaas_sdk.controller import counts_path
from gpuaas_sdk.image_layouts import ImageLayout
from gpuaas_sdk.registry import Repository
from gpuaas_sdk.signatures import public_pem, sign_image
from system_support.catalogue import proofs
from system_support.catalogue.images import image_of
from system_support.catalogue.lab_containers import RunningContainer
from system_support.catalogue.published_apps import publish_app
from system_support.catalogue.tiny_model import tiny_model
from system_support.container_lab import ContainerLab, web_image
from system_support.echo_lab import at_work
from system_support.lab_site import LabApp, lab_site
from system_support.signatures_required import signatures_required

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]
NEXT = "4.99.0"
controller = pytest.importorskip("gpuaas_containers.controller", reason="the container controller is not installed")


@pytest.fixture(scope="module")
def lab() -> Iterator[LabApp]:
    with lab_site("jupyter", 1, CONTAINER_ENGINE, registry=True) as (sandbox, fleet):
        app = LabApp(sandbox, "jupyter")
        app.settle_on(fleet)
        yield app


def test_a_person_launches_jupyter_from_a_signed_image_and_lives_through_a_canary_until_it_is_gone(
    lab: LabApp, tmp_path: Path
) -> None:
    [host], image = lab.hosts, image_of("jupyter")
    key = ec.generate_private_key(ec.SECP256R1())
    with signatures_required(lab.sandbox, "release", public_pem(key)) as trusted:
        with pytest.raises(GpuaasError) as unsigned:
            publish_app(lab, "jupyter", image, tmp_path)
        assert unsigned.value.code == "promotion_refused"
        sign(lab, image, key, tmp_path)
        version = publish_app(lab, "jupyter", image, tmp_path)
        story = JupyterStory(lab, version, {"status": "verified", "key": trusted.fingerprint})
        with at_work(controller.Containers(), lab.controller("replica-1")):
            story.launch()
            story.restart()
            story.upgrade_to_canary()
            story.read_log()
            story.roll_back()
            story.stop_and_start()
            lab.torn_down(story.instance)
    assert host.run(["podman", "ps", "--all", "--quiet"]).stdout == ""
    assert host.run(["podman", "volume", "ls", "--quiet"]).stdout == ""


def sign(lab: LabApp, image: ImageLayout, key: ec.EllipticCurvePrivateKey, folder: Path) -> None:
    """Sign the image as cosign does, and let the platform look again."""
    artifacts, project = lab.sandbox.admin.artifacts, lab.project_id
    found = artifacts.find(project, image.digest)
    assert found is not None
    registry, _, rest = (found.reference or "").partition("/")
    token = artifacts.registry_token
    repository = Repository(
        registry, rest.partition("@")[0], lambda scope: token(scope=[scope]).token, str(folder / "ca.pem")
    )
    sign_image(repository, image.digest, key)
    artifacts.verify(project, found.id)
    assert artifacts.wait_until_checked(project, found.id, 60).trust == "verified"


@dataclass
class JupyterStory:
    """What one person does with one notebook server. Files are kept all the while, and so is the token."""

    lab: LabApp
    version: AppVersion
    signature: dict[str, object]
    instance: str = ""

    @property
    def running(self) -> RunningContainer:
        [host] = self.lab.hosts
        [name] = host.run(["podman", "ps", "--format", "{{.Names}}"]).stdout.split()
        return RunningContainer(host, name)

    @property
    def notebook(self) -> proofs.Endpoint:
        return self.running.endpoint_with_token(8888)

    def execute(self, code: str) -> str:
        return proofs.execute_in_kernel(self.notebook, code)

    def shown(self) -> Instance:
        return self.lab.sandbox.admin.instances.show(self.lab.project_id, self.instance)

    def launch(self) -> None:
        placement = [Placement(component_key="notebook", allocation_id=self.lab.places[0])]
        new = NewInstance(app="jupyter", name="lab", placement_intent=placement, inputs={}, when_no_controller="queue")
        started = self.lab.sandbox.admin.instances.create(self.lab.project_id, new)
        self.instance = started.instance.id
        self.lab.succeeds(started.operation, 300.0)
        now, declared = self.shown(), image_of("jupyter").digest
        assert (now.status, now.digest, now.version) == ("running", declared, self.version.version)
        assert (now.runtime_version, now.declared_runtime_version) == (self.said_version(), recipe_version())
        [member] = self.lab.sandbox.admin.instances.members(self.lab.project_id, self.instance)
        assert (member.adapter_detail or {})["signature"] == self.signature
        assert self.execute("open('/data/kept', 'w').write('x'); 1 + 1") == "2"
        assert self.notebook.get("/api/kernels", token="guessed").status_code == 403

    def said_version(self) -> str:
        """What the program itself says of its version, without a token, and the host has read from it."""
        [host] = self.lab.hosts
        said = self.running.endpoint(8888).get("/launch/version", token="").text.strip()
        host.run(["systemctl", "start", f"{self.running.name}-meter.service"])  # as its timer does now and then
        [member] = self.lab.sandbox.admin.instances.members(self.lab.project_id, self.instance)
        counted = json.loads(host.read_file(counts_path(self.instance, member.id)))
        assert counted["runtime_version"] == said
        return said

    def restart(self) -> None:
        before = self.notebook
        self.lab.verb(self.instance, "restart")
        assert self.notebook == before, "the token is kept with the volume"
        assert self.execute("open('/data/kept').read()") == "'x'"

    def upgrade_to_canary(self) -> None:
        """A version with another variable, first as a canary that only this project chose, then for everybody."""
        admin, project = self.lab.sandbox.admin, self.lab.project_id
        changed = manifest_of("jupyter", {"image": image_of("jupyter").digest})
        for old, new in (
            (self.version.version, NEXT),
            ("    PASSWORD_HASH:", f"    RELEASE: {NEXT}\n    PASSWORD_HASH:"),
        ):
            assert changed.count(old) == 1
            changed = changed.replace(old, new)
        made = admin.app_versions.register(project, changed)
        admin.app_versions.canary(project, made.app_id, made.id, 1)
        assert admin.catalog.set_channel(project, "jupyter", "canary").latest == NEXT
        self.lab.succeeds(admin.instances.upgrade(project, self.instance, NEXT).operation, 300.0)
        assert self.execute("__import__('os').environ['RELEASE'], open('/data/kept').read()") == f"('{NEXT}', 'x')"
        admin.app_versions.activate(project, made.app_id, made.id)
        admin.catalog.set_channel(project, "jupyter", "automatic")
        assert admin.catalog.show(project, "jupyter").latest == NEXT

    def read_log(self) -> None:
        lines = self.lab.sandbox.admin.logs.tail(self.lab.project_id, self.instance, 500)
        assert any("Serving" in line.text or "Jupyter Server" in line.text for line in lines), [
            one.text for one in lines
        ]
        assert not any(self.notebook.token in line.text for line in lines)

    def roll_back(self) -> None:
        self.lab.verb(self.instance, "rollback")
        assert self.shown().version == self.version.version
        assert self.execute("__import__('os').environ.get('RELEASE'), open('/data/kept').read()") == "(None, 'x')"

    def stop_and_start(self) -> None:
        [host], before = self.lab.hosts, self.notebook
        stopped = self.lab.verb(self.instance, "stop")
        assert {(one.status, one.depth) for one in self.lab.receipts(stopped)} == {("clean", "stopped")}
        assert host.run(["podman", "ps", "--all", "--quiet"]).stdout == ""
        self.lab.verb(self.instance, "start")
        assert self.notebook == before
        assert self.execute("open('/data/kept').read()") == "'x'"


def recipe_version() -> str | None:
    return required_recipe("jupyter").runtime_version


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
