"""Bytes in the registry: pushed only where they are expected and fit the quota, and removed when nothing refers to them."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from gpuaas_sdk.errors import GpuaasError
from gpuaas_sdk.testing import free_port
from gpuaas_server.artifacts.registry_collection import find_garbage, measure, registry_data
from gpuaas_server.artifacts.registry_storage import Garbage, RegistryStorage
from gpuaas_server.artifacts.signatures import signature_tag
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.processes.registry import RegistryProcess
from gpuaas_server.runtime import running_platform
from tests_support.artifacts import Json
from tests_support.images import RegistrySite, push_image, registry_site

DAYS = 86_400.0


@pytest.fixture
async def site(settings: Settings) -> AsyncIterator[RegistrySite]:
    port = free_port()
    more = {"registry_bind": f"127.0.0.1:{free_port()}", "agent_urls": [f"http://127.0.0.1:{port}"]}
    with_registry = settings.model_copy(update=more)
    async with running_platform(with_registry) as platform, registry_site(platform, with_registry, port) as running:
        yield running


def storage(site: RegistrySite) -> RegistryStorage:
    return RegistryStorage(registry_data(site.shop.platform.settings))


def files(site: RegistrySite) -> list[Path]:
    return [path for path in registry_data(site.shop.platform.settings).rglob("*") if path.is_file()]


def age(site: RegistrySite, seconds: float = 2 * DAYS) -> None:
    """Everything that is there now was written so long ago."""
    for path in files(site):
        os.utime(path, (time.time() - seconds,) * 2)


async def garbage(site: RegistrySite) -> Garbage:
    return await find_garbage(site.shop.platform, storage(site))


async def push(site: RegistrySite, name: str = "image") -> str:
    return await asyncio.to_thread(push_image, site.repository(name))


async def push_unregistered(site: RegistrySite, name: str = "image") -> str:
    """An image whose intent was cancelled after the push."""
    intent = await site.shop.intend("oci", name)
    digest = await push(site, name)
    await site.shop.admin.post(f"{site.shop.path}/publish-intents/{intent['id']}/cancel", {})
    return digest


async def manifest(site: RegistrySite, reference: str, name: str = "image") -> bytes | None:
    return await asyncio.to_thread(site.repository(name).manifest, reference)


@asynccontextmanager
async def own_process(site: RegistrySite) -> AsyncIterator[RegistryProcess]:
    """The registry in the hands of the test, instead of the one that the site has started."""
    site.stop()
    process = RegistryProcess(site.shop.platform)
    await process.start()
    try:
        await until_answers(site)
        yield process
    finally:
        await process.stop()


async def until_answers(site: RegistrySite) -> None:
    async with httpx.AsyncClient(timeout=60) as client:
        for _ in range(600):
            try:
                if (await client.get(f"http://{site.registry}/v2/")).status_code == 401:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.05)
    raise AssertionError("the registry does not answer")


async def test_a_push_needs_an_intent_or_an_image_to_sign(site: RegistrySite) -> None:
    with pytest.raises(GpuaasError, match="did not accept the token"):
        await push(site)
    artifact = await site.publish()
    await push(site)  # the intent has ended; a signature would be pushed in the same way
    with pytest.raises(GpuaasError, match="did not accept the token"):
        await push(site, "another")
    assert (await site.shop.admin.call("DELETE", f"{site.shop.path}/artifacts/{artifact['id']}")).status_code == 202
    with pytest.raises(GpuaasError, match="did not accept the token"):
        await push(site)


@pytest.mark.parametrize("scope", ["project", "tenant"])
async def test_pushed_bytes_that_were_never_registered_count_against_the_quota(site: RegistrySite, scope: str) -> None:
    path = site.shop.path if scope == "project" else f"/tenants/{site.shop.tenant_id}"
    await push_unregistered(site)
    limits: Json = {"gpu_limit": None, "artifact_byte_limit": 30_000}
    assert (await site.shop.admin.call("PUT", f"{path}/quota", limits)).status_code == 200
    await site.shop.intend("oci", "image")
    await push(site)  # nobody has measured yet
    await measure(site.shop.platform, storage(site))
    with pytest.raises(GpuaasError) as refused:
        await push(site)
    assert refused.value.problem.code == "quota_exceeded"
    details = refused.value.problem.details
    assert (details["scope"], details["limit"]) == (scope, 30_000)
    assert int(str(details["used"])) > 80_000


async def test_registered_images_and_what_an_intent_has_reserved_are_not_counted_twice(site: RegistrySite) -> None:
    artifact = await site.publish()
    await measure(site.shop.platform, storage(site))
    limit = int(artifact["size_bytes"]) + 60_000
    body: Json = {"gpu_limit": None, "artifact_byte_limit": limit}
    assert (await site.shop.admin.call("PUT", f"{site.shop.path}/quota", body)).status_code == 200
    await site.shop.intend("oci", "second", size_bytes=50_000)
    await push(site, "second")
    await measure(site.shop.platform, storage(site))
    await push(site, "second")


async def test_what_nothing_refers_to_is_shown_first_and_then_removed(site: RegistrySite) -> None:
    kept = await site.publish()
    unregistered = await push_unregistered(site, "other")
    assert (await garbage(site)).is_empty, "all of it is younger than the grace period"
    age(site)
    found = await garbage(site)
    assert found.manifests == [(f"{site.shop.project_id}/other", unregistered)]
    assert found.size_bytes > 40_000
    assert await manifest(site, unregistered, "other") is not None, "a inspect_artifact changes nothing"
    async with own_process(site) as process:
        await process.collect_garbage()
        await until_answers(site)
        assert await manifest(site, unregistered, "other") is None
        assert await manifest(site, kept["digest"]) is not None
        await site.shop.admin.post(f"{site.shop.path}/artifacts/{kept['id']}/verify", {})
        await site.shop.work()
        assert (await site.shop.artifact(kept["id"]))["trust"] == "unverified", "every layer of it is there"
        assert (await garbage(site)).is_empty


async def test_a_repository_with_an_open_intent_is_left_alone(site: RegistrySite) -> None:
    digest = await site.push()
    age(site)
    assert (await garbage(site)).is_empty
    intents = (await site.shop.admin.get(f"{site.shop.path}/publish-intents"))["items"]
    await site.shop.admin.post(f"{site.shop.path}/publish-intents/{intents[0]['id']}/cancel", {})
    assert [one for _, one in (await garbage(site)).manifests] == [digest]


async def test_a_signature_stays_as_long_as_its_image(site: RegistrySite) -> None:
    artifact = await site.publish()
    config = b"{}"

    def sign() -> str:
        repository = site.repository()
        described = {"mediaType": "application/vnd.oci.image.config.v1+json", "size": 2}
        described["digest"] = repository.push_blob(config)
        document = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json"}
        document |= {"config": described, "layers": []}
        return repository.push_manifest(signature_tag(artifact["digest"]), json.dumps(document).encode())

    signature = await asyncio.to_thread(sign)
    age(site)
    assert (await garbage(site)).is_empty
    await site.shop.admin.call("DELETE", f"{site.shop.path}/artifacts/{artifact['id']}")
    assert (await garbage(site)).is_empty, "its own deletion removes it"
    await site.shop.work()
    assert await manifest(site, signature) is None
    found = await garbage(site)
    assert found.size_bytes > 40_000, "the registry has forgotten the manifests; their bytes are still there"
    async with own_process(site) as process:
        await process.collect_garbage()
        assert (await garbage(site)).is_empty


async def test_an_upload_that_broke_off_is_removed_after_the_grace_period(site: RegistrySite) -> None:
    await site.shop.intend("oci", "image")
    repository = site.repository()
    token = await asyncio.to_thread(repository.token, f"repository:{repository.name}:pull,push")
    async with httpx.AsyncClient(base_url=f"http://{site.registry}", timeout=60) as client:
        headers = {"Authorization": f"Bearer {token}"}
        begun = await client.post(f"/v2/{repository.name}/blobs/uploads/", headers=headers)
        assert begun.status_code == 202
        await client.patch(begun.headers["location"], headers=headers, content=b"half" * 1000)
    site_files = [path for path in files(site) if "_uploads" in path.parts]
    assert site_files
    intents = (await site.shop.admin.get(f"{site.shop.path}/publish-intents"))["items"]
    await site.shop.admin.post(f"{site.shop.path}/publish-intents/{intents[0]['id']}/cancel", {})
    assert (await garbage(site)).is_empty
    age(site)
    async with own_process(site) as process:
        await process.collect_garbage()
    assert [path for path in files(site) if "_uploads" in path.parts] == []
