"""How many watches, long polls and terminals a caller, a project and a tenant may have at once."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.streams import StreamLimits, StreamOwner
from gpuaas_server.kernel.metrics import registry
from gpuaas_server.kernel.settings import Settings
from tests_support import agents
from tests_support.agents import Site

OWNER = StreamOwner("usr_1", "prj_1", "tnt_1")


def limits(caller: int = 9, project: int = 9, tenant: int = 9) -> StreamLimits:
    settings = Settings(
        streams_per_caller=caller,
        streams_per_project=project,
        streams_per_tenant=tenant,
        database_url=SecretStr("postgresql://nowhere"),
    )
    return StreamLimits(settings)


@pytest.mark.parametrize("what", ["caller", "project", "tenant"])
def test_each_limit_is_kept_and_named(what: str) -> None:
    made = limits(**{what: 1})
    with made.opened(OWNER, "watch"):
        with pytest.raises(Problem) as refused, made.opened(OWNER, "watch"):
            pass
        assert (refused.value.code, refused.value.details["limit"]) == ("too_many_streams", what)
        assert refused.value.headers["Retry-After"]
        with made.opened(StreamOwner("usr_2", "prj_2", "tnt_2"), "watch"):
            pass
    with made.opened(OWNER, "watch"):
        pass


def test_a_refused_stream_counts_nowhere() -> None:
    made = limits(tenant=1)
    with made.opened(OWNER, "watch"):
        for _ in range(20):
            with pytest.raises(Problem), made.opened(StreamOwner("usr_2", "prj_2", "tnt_1"), "watch"):
                pass
        with made.opened(StreamOwner("usr_2", "prj_2", "tnt_2"), "watch"):
            pass


def test_whoever_has_no_tenant_is_counted_as_a_caller_alone() -> None:
    made = limits(tenant=1, project=1)
    platform_wide = StreamOwner("usr_1", "", "")
    with made.opened(platform_wide, "watch"), made.opened(platform_wide, "watch"):
        pass


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


def _polls() -> float:
    return registry.get_sample_value("gpuaas_streams", {"kind": "long_poll"}) or 0
