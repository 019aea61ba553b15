"""The catalogue's apps on a platform with a registry: built, pushed by digest, checked by the platform, and listed."""

import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuaas_catalogue.images.builder import base_key
from gpuaas_catalogue.images.cache import BuildCache
from gpuaas_catalogue.publication import Publication
from gpuaas_sdk import CatalogEntry, Client, GpuaasError, NotFound, ProvidedApp
from gpuaas_sdk.testing import Sandbox
from system_support.catalogue.images import CACHE, image_of, lab_base
from system_support.catalogue.tiny_model import tiny_model
from system_support.server import RunningServer, free_port
from tests_support.parts import part

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]
SETTLE = 300.0
BUILD = 1500.0  # the platform builds with the lowest priority, beside tests that take all of the machine


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


@pytest.mark.timeout(2700)
def test_the_platform_builds_and_publishes_an_app_by_itself_and_says_why_it_cannot(tmp_path: Path) -> None:
    """Without a registry there is nothing to build for; with one, the image is built beside the running platform."""
    cache, roots = tmp_path / "cache", ":".join(map(str, lab_base().roots))
    cache.mkdir()
    (cache / base_key(lab_base())).symlink_to(
        CACHE.folder / base_key(lab_base())
    )  # only the app's own layer is built here
    wanted = {"platform_apps": "containers,tensorboard", "catalogue_cache": str(cache), "catalogue_base": roots}
    with RunningServer.start(**wanted) as without:
        admin, person = without.admin(), Sandbox.create(without).person("project_member")
        missing = admin.wait_for(lambda: _provided(person, "unavailable"), SETTLE, "the app to be missed")
        assert (missing.display_name, missing.detail) == ("TensorBoard", None)
        assert "administrator of the platform" in (missing.next_step or "")
        project = next(iter(admin.projects.list())).id
        (known,) = (one for one in admin.provided_apps.list(project) if one.name == "tensorboard")
        assert "GPUAAS_REGISTRY_BIND" in (known.detail or "")
        assert not list(cache.glob("tensorboard-*"))
    part("docker-registry")
    with RunningServer.start(**wanted, registry_bind=f"127.0.0.1:{free_port()}") as server:
        person = Sandbox.create(server).person("project_member")
        person.wait_for(lambda: _provided(person, "provided"), BUILD, "the app to be provided")
        person.wait_for(lambda: _is_live(person), SETTLE, "a controller of the app")
        (built,) = cache.glob("tensorboard-*[0-9a-f]")
        version = _entry(person).latest
        server.stop()
        server.restart()
        person.wait_for(lambda: _is_live(person), SETTLE, "a controller after the restart")
        assert (_entry(person).latest, len(_entry(person).versions)) == (version, 1)
        assert [one for one in cache.glob("tensorboard-*") if one.is_dir()] == [built]


def _provided(person: Client, state: str) -> ProvidedApp | None:
    found = (one for one in person.provided_apps.list(_project(person)) if one.name == "tensorboard")
    return next((one for one in found if one.state == state), None)


def _project(person: Client) -> str:
    return next(iter(person.projects.list())).id


def _entry(person: Client) -> CatalogEntry:
    return person.catalog.show(_project(person), "tensorboard")


def _is_live(person: Client) -> bool:
    try:
        return _entry(person).controller.state == "live"
    except NotFound:
        return False


def test_the_same_recipe_on_the_same_base_gives_the_same_digest(tmp_path: Path) -> None:
    first = image_of("serving")
    base = base_key(lab_base())
    (tmp_path / base).symlink_to(CACHE.folder / base)  # built once: the slow tier builds it again
    again = image_of("serving", BuildCache(tmp_path))
    assert again.folder != first.folder
    assert again.digest == first.digest


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("app", ["jupyter", "vllm-cpu"])
def test_everything_built_again_from_nothing_has_the_same_digest(app: str, tmp_path: Path) -> None:
    again = image_of(app, BuildCache(tmp_path))
    try:
        assert again.digest == image_of(app).digest
    finally:
        shutil.rmtree(tmp_path)  # gigabytes, which pytest would keep
