"""Images in a real docker-registry that the platform runs: who may push and pull, and what is checked of the bytes."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from gpuaas_sdk.errors import GpuaasError
from gpuaas_sdk.registry import IMAGE_MANIFEST
from gpuaas_sdk.testing import free_port
from gpuaas_server.artifacts import backends
from gpuaas_server.artifacts.oci import Image
from gpuaas_server.artifacts.registry_tokens import Access, parse_scopes
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.pki import keys
from gpuaas_server.processes.registry import trust_bundle
from gpuaas_server.runtime import running_platform
from tests_support.images import RegistrySite, push_image, registry_site, start_registry


@pytest.fixture
async def site(settings: Settings) -> AsyncIterator[RegistrySite]:
    port = free_port()
    more = {"registry_bind": f"127.0.0.1:{free_port()}", "agent_urls": [f"http://127.0.0.1:{port}"]}
    with_registry = settings.model_copy(update=more)
    async with (
        running_platform(with_registry) as platform,
        registry_site(platform, with_registry, port) as running,
    ):
        yield running


def blobs(site: RegistrySite) -> list[Path]:
    return sorted((site.directory / "registry" / "data").rglob("data"), key=lambda path: path.stat().st_size)


async def test_an_image_is_registered_when_every_part_of_it_is_what_it_says(site: RegistrySite) -> None:
    artifact = await site.publish()
    assert artifact["reference"] == f"{site.registry}/{site.shop.project_id}/image@{artifact['digest']}"
    assert artifact["size_bytes"] > 40_000
    assert (artifact["stage"], artifact["trust"]) == ("draft", "unverified")


async def test_an_image_that_was_not_pushed_is_not_registered(site: RegistrySite) -> None:
    intent = await site.shop.intend("oci", "image")
    await site.shop.complete(intent, "sha256:" + "0" * 64)
    await site.shop.work()
    assert (await site.shop.intent(intent))["failure"]["code"] == "upload_missing"


async def test_a_layer_that_changed_on_the_registrys_disk_is_found_out(site: RegistrySite) -> None:
    artifact = await site.publish()
    layer = blobs(site)[-1]
    layer.write_bytes(b"x" * layer.stat().st_size)
    intent = await site.shop.intend("oci", "image")
    await site.shop.complete(intent, artifact["digest"])
    await site.shop.work()
    assert (await site.shop.intent(intent))["failure"]["code"] == "digest_mismatch"
    await site.shop.admin.post(f"{site.shop.path}/artifacts/{artifact['id']}/verify", {})
    await site.shop.work()
    found = await site.shop.artifact(artifact["id"])
    assert found["trust"] == "failed_verification"
    assert "digest_mismatch" in found["trust_detail"]


async def test_an_image_that_failed_its_check_is_not_left_in_the_registry(site: RegistrySite) -> None:
    digest = await site.push()
    layer = blobs(site)[-1]
    layer.write_bytes(b"x" * layer.stat().st_size)
    intent = await site.shop.intend("oci", "image")
    await site.shop.complete(intent, digest)
    await site.shop.work()
    assert (await site.shop.intent(intent))["failure"]["code"] == "digest_mismatch"
    assert await asyncio.to_thread(site.repository().manifest, digest) is not None
    await site.shop.work()
    assert await asyncio.to_thread(site.repository().manifest, digest) is None


async def test_a_registry_that_is_away_delays_and_decides_nothing(site: RegistrySite) -> None:
    artifact = await site.publish()
    intent = await site.shop.intend("oci", "other")
    site.stop()
    await site.shop.complete(intent, artifact["digest"])
    await site.shop.admin.post(f"{site.shop.path}/artifacts/{artifact['id']}/verify", {})
    await site.shop.work()
    waiting = await site.shop.intent(intent)
    assert (waiting["state"], waiting["failure"]["code"]) == ("verifying", "registry_unavailable")
    assert waiting["failure"]["retryable"]
    found = await site.shop.artifact(artifact["id"])
    assert (found["trust"], found["checking"]) == ("unverified", True)


async def _scopes_of(site: RegistrySite, name: str, password: str, scope: str) -> httpx.Response:
    async with httpx.AsyncClient(base_url=site.api, timeout=60) as client:
        shown = base64.b64encode(f"{name}:{password}".encode()).decode()
        headers = {"Authorization": f"Basic {shown}"}
        return await client.get("/api/v1/registry/token", params={"scope": scope}, headers=headers)


async def test_only_publishers_push_and_unauthenticated_clients_get_nothing(site: RegistrySite) -> None:
    accounts = f"{site.shop.path}/service-accounts"
    await site.shop.intend("oci", "image")
    tokens = {}
    for scope in ("artifacts:publish", "artifacts:read", "projects:read"):
        made = await site.shop.admin.post(accounts, {"name": scope, "scopes": [scope]})
        secret = made["key"]["secret"]
        answer = await _scopes_of(site, made["id"], secret, f"repository:{site.shop.project_id}/image:pull,push")
        assert answer.status_code == 200, answer.text
        tokens[scope] = answer.json()["token"]
        wrong = await _scopes_of(site, made["id"], secret + "x", "")
        assert (wrong.status_code, wrong.json()["code"]) == (401, "bad_credentials")
    pushing = site.repository()

    async def pushes(token: str) -> bool:
        repository = type(pushing)(pushing.registry, pushing.name, lambda scope: token)
        try:
            await asyncio.to_thread(push_image, repository, 1)
        except GpuaasError as error:
            assert "did not accept the token" in error.problem.detail
            return False
        return True

    assert [await pushes(tokens[scope]) for scope in tokens] == [True, False, False]
    digest = await site.push()
    accept = {"Accept": IMAGE_MANIFEST}
    async with httpx.AsyncClient(base_url=f"http://{site.registry}", headers=accept, timeout=60) as client:
        path = f"/v2/{site.shop.project_id}/image/manifests/{digest}"
        read = [
            (await client.get(path, headers={"Authorization": f"Bearer {token}"})).status_code
            for token in tokens.values()
        ]
        assert read == [200, 200, 401]
        assert (await client.get(path)).status_code == 401
        assert (
            await client.get("/v2/_catalog", headers={"Authorization": f"Bearer {tokens['artifacts:read']}"})
        ).status_code == 401


async def test_a_token_for_one_project_opens_no_other(site: RegistrySite) -> None:
    digest = await site.push()
    other = await site.shop.admin.post(f"/tenants/{site.shop.tenant_id}/projects", {"slug": "other", "name": "Other"})
    account = {"name": "reader", "scopes": ["artifacts:read", "artifacts:publish"]}
    made = await site.shop.admin.post(f"/projects/{other['id']}/service-accounts", account)
    scope = f"repository:{site.shop.project_id}/image:pull,push"
    token = (await _scopes_of(site, made["id"], made["key"]["secret"], scope)).json()["token"]
    accept = {"Accept": IMAGE_MANIFEST}
    async with httpx.AsyncClient(base_url=f"http://{site.registry}", headers=accept, timeout=60) as client:
        path = f"/v2/{site.shop.project_id}/image/manifests/{digest}"
        assert (await client.get(path, headers={"Authorization": f"Bearer {token}"})).status_code == 401


async def test_the_registry_is_killed_with_the_process_that_runs_it(site: RegistrySite) -> None:
    site.process.kill()
    site.process.wait(60)
    async with httpx.AsyncClient(timeout=60) as client:
        with pytest.raises(httpx.TransportError):
            await client.get(f"http://{site.registry}/v2/")


async def test_a_registry_for_other_machines_speaks_tls_by_the_platforms_authority(settings: Settings) -> None:
    remote = settings.model_copy(update={"registry_bind": f"0.0.0.0:{free_port()}"})
    async with running_platform(remote) as platform:
        process = await asyncio.to_thread(start_registry, remote)
        try:
            assert backends.registry_url(remote).startswith("https://localhost:")
            assert await asyncio.wait_for(_looked_up(platform), 30) is None
        finally:
            process.terminate()
            process.wait(15)


async def _looked_up(platform: Platform) -> Image | None:
    """What the registry says of an image that is not there; asked until it answers at all."""
    while True:
        with suppress(Problem):
            registry = await backends.registry(platform)
            return await registry.check_image("prj_x/none", f"sha256:{'0' * 64}")
        await asyncio.sleep(0.1)


async def test_a_new_key_is_trusted_by_the_registry_before_it_signs(platform: Platform) -> None:
    first = await backends.registry_key(platform)
    assert (await trust_bundle(platform)).count("BEGIN CERTIFICATE") == 1
    made = await keys.key_prepare(platform, "registry_token")
    async with platform.transaction(PLATFORM, system_actor("test")) as tx:
        await keys.key_rotate(tx, made)
    assert (await trust_bundle(platform)).count("BEGIN CERTIFICATE") == 2
    assert (await backends.registry_key(platform)).certificate == first.certificate


def test_scopes_are_read_as_the_protocol_writes_them() -> None:
    read = parse_scopes(["repository:prj_x/a:pull,push repository:b/c:pull", "registry:catalog:*", "nonsense"])
    assert read == [Access("prj_x/a", frozenset({"pull", "push"})), Access("b/c", frozenset({"pull"}))]
    assert [one.project_id for one in read] == [None, None]
