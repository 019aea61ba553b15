"""Images of the catalogue on a real host: built by recipe, pulled by digest, run by podman as the manifest says, and used."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from gpuaas_catalogue.manifests import manifest_of
from gpuaas_lab import CONTAINER_ENGINE, Fleet, Host
from system_support.catalogue import proofs
from system_support.catalogue.images import image_of
from system_support.catalogue.lab_containers import LabRegistry, container, lab_registry

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


def _published(registry: LabRegistry, app: str) -> tuple[str, dict[str, Any]]:
    """Return the image's reference and the profile of the app's manifest."""
    image = image_of(app)
    manifest: dict[str, Any] = yaml.safe_load(manifest_of(app, {"image": image.digest}))
    return registry.push(f"catalogue/{app}", image), manifest["runtime_profile"]


def test_jupyterlab_executes_code_in_a_kernel_for_who_has_the_token(host: Host, registry: LabRegistry) -> None:
    reference, profile = _published(registry, "jupyter")
    with container(host, reference, profile, {}) as running:
        proofs.wait_until_ready(running.endpoint(8888), "/api")
        lab = running.endpoint_with_token(8888)
        assert proofs.execute_in_kernel(lab, "import os; (1 + 1, os.getuid(), os.getcwd())") == "(2, 1000, '/data')"
        assert lab.get("/api/status").json()["kernels"] == 0
        assert lab.get("/lab").status_code == 200
        assert lab.get("/api/kernels", token="guessed").status_code == 403
        assert lab.get("/api/kernels", token="").status_code == 403
        everywhere = running.log() + host.run(["ps", "-ewwo", "args"]).stdout
        everywhere += host.run(["podman", "inspect", running.name]).stdout
        assert len(lab.token) >= 40
        assert lab.token not in everywhere
