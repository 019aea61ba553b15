"""The catalogue's apps on a platform with a registry: built, pushed by digest, checked by the platform, and listed."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuaas_catalogue.images.builder import base_key
from gpuaas_catalogue.images.cache import BuildCache
from gpuaas_catalogue.publication import Publication
from gpuaas_sdk import GpuaasError
from system_support.catalogue.images import CACHE, image_of, lab_base
from system_support.catalogue.tiny_model import tiny_model
from system_support.server import RunningServer, free_port
from tests_support.parts import part

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    part("docker-registry")
    with RunningServer.start(registry_bind=f"127.0.0.1:{free_port()}") as running:
        yield running


def test_a_published_app_is_in_the_catalogue_with_every_digest_and_once(server: RunningServer, tmp_path: Path) -> None:
    client = server.admin()
    tenant = client.tenants.create(f"t-{secrets.token_hex(3)}", "Models")
    project = client.projects.create(tenant.id, "serve", "Serve").id
    weights = tmp_path / "tiny.gguf"
    weights.write_bytes(tiny_model())
    publication = Publication(client, project, "answered the openai client on a lab host")
    version = publication.publish("serving", image_of("serving"), {"weights": weights})
    assert (version.slug, version.status, version.artifact_digest) == ("serving", "active", image_of("serving").digest)
    published = {one.digest: (one.kind, one.stage) for one in client.artifacts.list(project)}
    assert sorted(published.values()) == [("blob", "active"), ("oci", "active")]
    shown = client.app_versions.show(project, version.app_id, version.id)
    assert shown.manifest["runtime_profile"]["artifacts"][0]["digest"] in published
    assert publication.publish("serving", image_of("serving"), {"weights": weights}).id == version.id
    (found,) = client.artifacts.list(project, digest=shown.manifest["runtime_profile"]["artifacts"][0]["digest"])
    with pytest.raises(GpuaasError) as refused:
        client.artifacts.delete(project, found.id)
    assert refused.value.problem.code == "artifact_in_use"


def test_the_same_recipe_on_the_same_base_gives_the_same_digest(tmp_path: Path) -> None:
    first = image_of("serving")
    base = base_key(lab_base())
    (tmp_path / base).symlink_to(CACHE.folder / base)  # built once: the slow tier builds it again
    again = image_of("serving", BuildCache(tmp_path))
    assert again.folder != first.folder
    assert again.digest == first.digest


@pytest.mark.slow
def test_everything_built_again_from_nothing_has_the_same_digest(tmp_path: Path) -> None:
    assert image_of("jupyter", BuildCache(tmp_path)).digest == image_of("jupyter").digest
