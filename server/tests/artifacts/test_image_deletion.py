"""Deleting an image in a real registry: it goes with its signatures, and what others share stays."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from gpuaas_sdk.registry import IMAGE_MANIFEST
from gpuaas_sdk.testing import free_port
from gpuaas_server.artifacts.signatures import signature_tag
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from tests_support.artifacts import Json
from tests_support.images import RegistrySite, described_blob, registry_site, start_registry


@pytest.fixture
async def site(settings: Settings) -> AsyncIterator[RegistrySite]:
    port = free_port()
    more = {"registry_bind": f"127.0.0.1:{free_port()}", "agent_urls": [f"http://127.0.0.1:{port}"]}
    with_registry = settings.model_copy(update=more)
    async with running_platform(with_registry) as platform, registry_site(platform, with_registry, port) as running:
        yield running


async def manifest(site: RegistrySite, reference: str, name: str = "image") -> bytes | None:
    return await asyncio.to_thread(site.repository(name).manifest, reference)


async def delete(site: RegistrySite, artifact: Json) -> str:
    path = f"{site.shop.path}/artifacts/{artifact['id']}"
    answer = await site.shop.admin.call("DELETE", path)
    assert answer.status_code == 202, answer.text
    return path


async def sign(site: RegistrySite, digest: str) -> None:
    """A manifest under the signature's tag; what it says does not matter to a deletion."""
    config = b"{}"

    def push() -> None:
        repository = site.repository()
        repository.push_blob(config)
        described = described_blob("application/vnd.oci.image.config.v1+json", config)
        document = {"schemaVersion": 2, "mediaType": IMAGE_MANIFEST, "config": described, "layers": []}
        repository.push_manifest(signature_tag(digest), json.dumps(document).encode())

    await asyncio.to_thread(push)


async def test_an_image_goes_with_its_signatures_and_its_neighbour_stays(site: RegistrySite) -> None:
    kept, gone = await site.publish(), await site.publish()
    await sign(site, gone["digest"])
    path = await delete(site, gone)
    assert await manifest(site, gone["digest"]) is not None, "the bytes go when the worker takes its turn"
    await site.shop.work()
    assert (await site.shop.admin.call("GET", path)).status_code == 404
    for reference in (gone["digest"], signature_tag(gone["digest"])):
        assert await manifest(site, reference) is None
    assert await manifest(site, kept["digest"]) is not None
    await site.shop.admin.post(f"{site.shop.path}/artifacts/{kept['id']}/verify", {})
    await site.shop.work()
    assert (await site.shop.artifact(kept["id"]))["trust"] == "unverified", "whole, though not signed"


async def test_a_registry_that_is_away_delays_the_deletion_and_loses_nothing(site: RegistrySite) -> None:
    artifact = await site.publish()
    path = await delete(site, artifact)
    site.stop()
    with pytest.raises(Problem) as away:
        await site.shop.work()
    assert away.value.code == "registry_unavailable"
    assert (await site.shop.admin.get(path))["deleting"] is True
    quota = await site.shop.admin.get(f"{site.shop.path}/quota")
    assert quota["artifact_bytes_used"] == artifact["size_bytes"], "bytes that are there count"
    site.process = await asyncio.to_thread(start_registry, site.shop.platform.settings)
    try:
        await until_gone(site, path)
    finally:
        site.stop()
    assert (await site.shop.admin.get(f"{site.shop.path}/quota"))["artifact_bytes_used"] == 0


async def until_gone(site: RegistrySite, path: str) -> None:
    for _ in range(600):
        try:
            await site.shop.work()
        except Problem:
            await asyncio.sleep(0.1)
            continue
        assert (await site.shop.admin.call("GET", path)).status_code == 404
        return
    raise AssertionError("the registry did not come back")
