"""A release that the platform cannot finish holds the slots, but not the tenant's quota; and it is given back once."""

from collections.abc import AsyncIterator

import pytest

from gpuaas_server.kernel.context import Platform
from tests_support import agents
from tests_support.agents import Site
from tests_support.allocation_story import Story


@pytest.fixture
async def site(platform: Platform) -> AsyncIterator[Site]:
    async with agents.opened(platform) as opened:
        yield opened


@pytest.fixture
async def blocked(site: Site) -> Story:
    story = await Story.begin(site)
    await story.create()
    assert await story.used() == (2, 2)
    await story.ask("release")
    assert await story.settle(clean=False) == "release_failed"
    return story


async def test_a_blocked_release_stops_counting_while_its_slots_stay_out_of_the_pool(blocked: Story) -> None:
    assert await blocked.used() == (0, 0)
    node = await blocked.site.admin.get(f"/nodes/{blocked.host.node_id}")
    assert node["slots"]["cleanup_blocked"] == 2


async def test_a_retry_that_fails_and_one_that_ends_well_give_nothing_back_again(blocked: Story) -> None:
    for clean, state in ((False, "release_failed"), (True, "released")):
        await blocked.ask("retry-release")
        assert await blocked.settle(clean) == state
        assert await blocked.used() == (0, 0)
    await blocked.create()
    assert await blocked.used() == (2, 2)


async def test_a_forced_clean_up_gives_nothing_back_again(blocked: Story) -> None:
    reason = {"reason": "drive replaced", "evidence": "new serial, seen by J. Doe"}
    await blocked.ask("force-cleanup", reason)
    assert await blocked.settle(clean=True) == "released"
    assert await blocked.used() == (0, 0)
    await blocked.create()
    assert await blocked.used() == (2, 2)


async def test_a_clean_release_gives_back_once(blocked: Story) -> None:
    await blocked.ask("retry-release")
    await blocked.settle(clean=True)
    await blocked.create()
    await blocked.ask("release")
    assert await blocked.settle(clean=True) == "released"
    assert await blocked.used() == (0, 0)


async def test_clean_against_another_baseline_is_not_shown_as_verified(blocked: Story) -> None:
    await blocked.ask("retry-release")
    assert await blocked.settle(clean=True, baseline="b") == "release_failed"
    path = f"/projects/{blocked.project}/allocations/{blocked.allocation}"
    assert (await blocked.site.admin.get(path))["wipe_verified"] is False
    await blocked.ask("retry-release")
    assert await blocked.settle(clean=True) == "released"
    assert (await blocked.site.admin.get(path))["wipe_verified"] is True
