"""`gpuaas-server up` with a registry of its own: pushed, registered by the real worker, and back after a kill -9."""

import json
import secrets
import time
from collections.abc import Iterator

import pytest

from gpuaas_sdk import Client, GpuaasError
from gpuaas_sdk.registry import IMAGE_MANIFEST, Repository
from system_support.server import RunningServer, free_port
from tests_support.parts import part


@pytest.fixture(scope="module")
def machine() -> Iterator[RunningServer]:
    part("docker-registry")
    with RunningServer.start(registry_bind=f"127.0.0.1:{free_port()}") as running:
        yield running


@pytest.fixture(scope="module")
def project(machine: RunningServer) -> str:
    tenant = machine.admin().tenants.create(f"t-{secrets.token_hex(3)}", "Images")
    return machine.admin().projects.create(tenant.id, "build", "Build").id


def _repository(client: Client, project: str) -> Repository:
    intent = client.publish_intents.create(project, "oci", "image")
    assert intent.push is not None
    token = client.artifacts.registry_token
    return Repository(intent.push.registry, intent.push.repository, lambda scope: token(scope=[scope]).token)


def _push(repository: Repository) -> str:
    config, layer = b"{}", secrets.token_bytes(100_000)
    parts = [
        {"mediaType": kind, "size": len(content), "digest": _patiently(repository, content)}
        for kind, content in (
            ("application/vnd.oci.image.config.v1+json", config),
            ("application/vnd.oci.image.layer.v1.tar", layer),
        )
    ]
    manifest = {"schemaVersion": 2, "mediaType": IMAGE_MANIFEST, "config": parts[0], "layers": parts[1:]}
    return repository.push_manifest("1", json.dumps(manifest).encode())


def _patiently(repository: Repository, content: bytes) -> str:
    """The registry starts, or starts again, beside the API and may need a moment longer."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return repository.push_blob(content)
        except GpuaasError as error:
            if not error.problem.retryable or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def test_an_image_is_published_on_one_machine(machine: RunningServer, project: str) -> None:
    client = machine.admin()
    digest = _push(_repository(client, project))
    intent = next(iter(client.publish_intents.list(project)))
    client.publish_intents.complete(project, intent.id, digest)
    settled = client.publish_intents.wait_until_checked(project, intent.id, 60.0)
    assert (settled.state, settled.failure) == ("registered", None)
    assert settled.artifact_id is not None
    artifact = client.artifacts.wait_until_checked(project, settled.artifact_id, 60.0)
    assert (artifact.digest, artifact.trust, artifact.size_bytes > 100_000) == (digest, "unverified", True)


def test_a_killed_registry_comes_back_with_what_it_held(machine: RunningServer, project: str) -> None:
    client = machine.admin()
    repository = _repository(client, project)
    digest = _push(repository)
    machine.kill("registry")
    _patiently(repository, b"something to find out that it is back")
    assert repository.manifest(digest) is not None
