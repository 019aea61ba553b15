"""How many watches, long polls and terminals a caller, a project and a tenant may have at once."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.streams import StreamLimits, StreamOwner
from gpuaas_server.kernel.metrics import registry
from gpuaas_server.kernel.quotas import StreamQuota
from gpuaas_server.kernel.settings import Settings
from tests_support import agents
from tests_support.agents import Site

OWNER = StreamOwner("usr_1", "prj_1", "tnt_1")
STRANGER = StreamOwner("usr_2", "prj_2", "tnt_2")


def limits(caller: int = 9, project: int = 9, tenant: int = 9, quota: StreamQuota | None = None) -> StreamLimits:
    async def read_quota(tenant_id: str, project_id: str) -> StreamQuota:
        return quota or StreamQuota()

    settings = Settings(
        streams_per_caller=caller,
        streams_per_project=project,
        streams_per_tenant=tenant,
        database_url=SecretStr("postgresql://nowhere"),
    )
    return StreamLimits(settings, read_quota)


@pytest.mark.parametrize("what", ["caller", "project", "tenant"])
async def test_each_limit_is_kept_and_named(what: str) -> None:
    made = limits(**{what: 1})
    async with made.opened(OWNER, "watch"):
        with pytest.raises(Problem) as refused:
            await _open(made, OWNER)
        assert (refused.value.code, refused.value.details["limit"]) == ("too_many_streams", what)
        assert refused.value.headers["Retry-After"]
        await _open(made, STRANGER)
    await _open(made, OWNER)


async def test_a_refused_stream_counts_nowhere() -> None:
    made = limits(tenant=1)
    async with made.opened(OWNER, "watch"):
        for _ in range(20):
            with pytest.raises(Problem):
                await _open(made, StreamOwner("usr_2", "prj_2", "tnt_1"))
        await _open(made, STRANGER)


async def test_whoever_has_no_tenant_is_counted_as_a_caller_alone() -> None:
    made = limits(tenant=1, project=1)
    platform_wide = StreamOwner("usr_1", "", "")
    async with made.opened(platform_wide, "watch"), made.opened(platform_wide, "watch"):
        pass


@pytest.mark.parametrize(
    ("quota", "what", "raised_by"),
    [(StreamQuota(project=1), "project", "tenant_admin"), (StreamQuota(tenant=1), "tenant", "platform_admin")],
)
async def test_a_quota_replaces_the_default_and_the_refusal_says_who_can_raise_it(
    quota: StreamQuota, what: str, raised_by: str
) -> None:
    made = limits(quota=quota)
    async with made.opened(OWNER, "watch"):
        with pytest.raises(Problem) as refused:
            await _open(made, OWNER)
    problem = refused.value
    assert (problem.code, problem.details["limit"], problem.details["streams"]) == ("too_many_streams", what, 1)
    assert (problem.details["scope"], problem.details["raised_by"]) == (what, raised_by)
    assert problem.detail == f"The {what}'s quota is 1 streams, and 1 are open. A {raised_by} can raise it."


async def test_a_quota_above_the_default_allows_more() -> None:
    made = limits(project=1, tenant=1, quota=StreamQuota(project=2, tenant=2))
    async with made.opened(OWNER, "watch"), made.opened(OWNER, "watch"):
        with pytest.raises(Problem):
            await _open(made, OWNER)


@pytest.fixture
async def site(settings: Settings, platform: Platform) -> AsyncIterator[Site]:
    platform.settings = settings.model_copy(update={"streams_per_caller": 2})
    async with agents.opened(platform) as opened:
        yield opened


async def test_a_long_poll_too_many_is_refused_and_an_ordinary_read_is_not(site: Site) -> None:
    headers = {"Authorization": f"Bearer {site.admin.token}"}
    tail = (await site.client.get("/events?tail=0", headers=headers)).json()["next_cursor"]
    waiting = [asyncio.create_task(site.client.get(f"/events?after={tail}&wait=60", headers=headers)) for _ in range(2)]
    while _polls() < 2:
        await asyncio.sleep(0.01)
    refused = await site.client.get(f"/events?after={tail}&wait=60", headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_streams")
    assert refused.headers["Retry-After"]
    stream = await site.client.get("/events", headers={**headers, "Accept": "text/event-stream"})
    assert (stream.status_code, stream.json()["code"]) == (429, "too_many_streams")
    assert (await site.client.get("/events", headers=headers)).status_code == 200
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    while _polls():
        await asyncio.sleep(0.01)


async def _open(made: StreamLimits, owner: StreamOwner) -> None:
    async with made.opened(owner, "watch"):
        pass


def _polls() -> float:
    return registry.get_sample_value("gpuaas_streams", {"kind": "long_poll"}) or 0
