"""The quota of streams: set for a tenant and a project, and kept by the api process from then on."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.metrics import registry
from gpuaas_server.kernel.settings import Settings
from tests_support import agents
from tests_support.agents import Site

DEFAULTS = {"streams_per_project": 5, "streams_per_tenant": 7}


@pytest.fixture
async def site(settings: Settings, platform: Platform) -> AsyncIterator[Site]:
    platform.settings = settings.model_copy(update=DEFAULTS)
    async with agents.opened(platform) as opened:
        yield opened


@pytest.fixture
async def tenant(site: Site) -> str:
    made = await site.admin.post("/tenants", {"slug": "acme", "name": "Acme"})
    return f"/tenants/{made['id']}"


@pytest.fixture
async def project(site: Site, tenant: str) -> str:
    made = await site.admin.post(f"{tenant}/projects", {"slug": "train", "name": "Train"})
    return f"/projects/{made['id']}"


async def put(site: Site, scope: str, stream_limit: int | None) -> httpx.Response:
    answer = await site.admin.call("PUT", f"{scope}/quota", {"gpu_limit": None, "stream_limit": stream_limit})
    for _ in range(10):
        await asyncio.sleep(0)  # the gate empties its cache in a task of its own, which is woken by now
    return answer


async def limit(site: Site, scope: str) -> object:
    return (await site.admin.get(f"{scope}/quota"))["stream_limit"]


async def poll(site: Site, project: str, tail: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {site.admin.token}"}
    return await site.client.get(f"{project}/events?after={tail}&wait=60", headers=headers)


def polls() -> float:
    return registry.get_sample_value("gpuaas_streams", {"kind": "long_poll"}) or 0


async def test_it_is_the_default_until_it_is_set_and_again_when_it_is_removed(
    site: Site, tenant: str, project: str
) -> None:
    assert (await limit(site, tenant), await limit(site, project)) == (7, 5)
    assert (await put(site, tenant, 6)).json()["stream_limit"] == 6
    assert (await put(site, project, 3)).json()["stream_limit"] == 3
    unchanged = await site.admin.call("PUT", f"{project}/quota", {"gpu_limit": 2})
    assert (unchanged.json()["stream_limit"], unchanged.json()["gpu_limit"]) == (3, 2)
    await put(site, tenant, None)
    await put(site, project, None)
    assert (await limit(site, tenant), await limit(site, project)) == (7, 5)


async def test_a_project_has_no_larger_limit_than_its_tenant_and_nobody_has_none(
    site: Site, tenant: str, project: str
) -> None:
    assert (await put(site, project, 7)).status_code == 200  # above the default of projects
    beyond = await put(site, project, 8)
    assert (beyond.status_code, beyond.json()["code"]) == (409, "quota_beyond_tenant")
    assert beyond.json()["details"]["limit"] == "stream_limit"
    assert (await put(site, tenant, 0)).json()["code"] == "invalid_request"


@pytest.mark.parametrize(("what", "raised_by"), [("project", "tenant_admin"), ("tenant", "platform_admin")])
async def test_a_lowered_quota_refuses_new_streams_and_a_raised_one_admits_them(
    site: Site, tenant: str, project: str, what: str, raised_by: str
) -> None:
    scope = {"project": project, "tenant": tenant}[what]
    tail = (await site.admin.get(f"{project}/events?tail=0"))["next_cursor"]
    open_polls = [asyncio.create_task(poll(site, project, str(tail))) for _ in range(2)]
    await _until_polls(2)
    assert (await put(site, scope, 1)).status_code == 200
    refused = await poll(site, project, str(tail))
    assert (refused.status_code, refused.json().get("code")) == (429, "too_many_streams")
    assert refused.headers["Retry-After"]
    details = refused.json()["details"]
    assert details == {
        "limit": what, "streams": 1, "used": 2, "quota": "streams", "scope": what, "raised_by": raised_by,
    }  # fmt: skip
    assert polls() == 2, "those that are open stay"
    await put(site, scope, 3)
    open_polls.append(asyncio.create_task(poll(site, project, str(tail))))
    await _until_polls(3)
    for task in open_polls:
        task.cancel()
    await asyncio.gather(*open_polls, return_exceptions=True)
    await _until_polls(0)


async def test_another_project_has_its_own_limit(site: Site, tenant: str, project: str) -> None:
    made = await site.admin.post(f"{tenant}/projects", {"slug": "other", "name": "Other"})
    other = f"/projects/{made['id']}"
    await put(site, project, 1)
    tail = str((await site.admin.get(f"{project}/events?tail=0"))["next_cursor"])
    tasks = [asyncio.create_task(poll(site, where, tail)) for where in (project, other, other)]
    await _until_polls(3)
    assert (await poll(site, project, tail)).json()["details"]["limit"] == "project"
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await _until_polls(0)


async def _until_polls(count: int) -> None:
    async with asyncio.timeout(60):
        while polls() != count:
            await asyncio.sleep(0.01)
