"""A release that the platform cannot finish holds the slots, but not the tenant's quota; and it is given back once."""

from collections.abc import AsyncIterator

import pytest

from gpuaas_server.allocations import queries, service
from gpuaas_server.allocations.reconciler import AllocationReconciler
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from tests_support import agents
from tests_support.agents import Site, inventory, slot
from tests_support.allocation_story import Story
from tests_support.select import select


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


async def test_unproven_gpus_count_until_a_retry_proves_them_clean_or_somebody_forces_it(blocked: Story) -> None:
    assert await blocked.unproven() == (2, 2)
    await blocked.ask("retry-release")
    assert await blocked.unproven() == (2, 2)
    assert await blocked.settle(clean=False) == "release_failed"
    assert await blocked.unproven() == (2, 2)
    await blocked.ask("force-cleanup", {"reason": "drive replaced", "evidence": "new serial, seen by J. Doe"})
    assert await blocked.unproven() == (0, 0)


async def test_a_tenant_at_its_limit_of_unproven_gpus_gets_nothing_more_until_they_are_clean(blocked: Story) -> None:
    second = await blocked.site.host()
    await second.call("POST", "/inventory", inventory(*(slot(n) for n in range(2))))
    await blocked.site.admin.post(f"/nodes/{second.node_id}/slots/approve", {})
    limits = {"gpu_limit": None, "unproven_gpu_limit": 2}
    await blocked.site.admin.call("PUT", f"/tenants/{blocked.tenant}/quota", limits)
    refused = await blocked.site.admin.call("POST", f"/projects/{blocked.project}/allocations", {"sku": "whole"})
    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (409, "unproven_releases")
    assert {name: problem["details"][name] for name in ("quota", "scope", "used", "limit", "raised_by")} == {
        "quota": "unproven_gpus",
        "scope": "tenant",
        "used": 2,
        "limit": 2,
        "raised_by": "platform_admin",
    }
    await blocked.ask("retry-release")
    assert await blocked.settle(clean=True) == "released"
    await blocked.site.admin.post(f"/projects/{blocked.project}/allocations", {"sku": "whole"})
    assert await blocked.unproven() == (0, 0)


async def test_the_end_of_an_allocation_locks_no_quota_before_the_last_statement(blocked: Story) -> None:
    """A creation locks its nodes and then the quota. Whoever ends several allocations in one transaction must not hold the
    quota while it waits for the next one's node: the two would wait for each other.
    """
    platform = blocked.site.platform
    async with platform.transaction(PLATFORM, system_actor("test")) as tx:
        [row] = await queries.allocations_lock(tx.connection, [blocked.allocation])
        await service.end_claims(tx, row)
        await (await select(tx.connection, "SELECT 1")).fetchone()  # whoever waits for an answer sends all before it
        async with platform.transaction(PLATFORM, system_actor("beside")) as beside:
            locked = await select(beside.connection, "SELECT scope_id FROM quotas FOR UPDATE NOWAIT")
            assert {row["scope_id"] for row in await locked.fetchall()} == {blocked.project, blocked.tenant}
    assert await blocked.used() == (0, 0)


async def test_a_worker_locks_the_hosts_of_several_allocations_in_one_order(site: Site) -> None:
    """Two workers that end allocations on the same two hosts would otherwise wait for each other."""
    story = await Story.begin(site)
    first, second = story.host, await site.host()
    assert first.node_id < second.node_id
    await second.call("POST", "/inventory", inventory(*(slot(n) for n in range(2))))
    await site.admin.post(f"/nodes/{second.node_id}/slots/approve", {})
    await site.admin.post(f"/nodes/{first.node_id}/cordon", {"reason": "the other one first"})
    wanted = (f"/projects/{story.project}/allocations", {"sku": "whole"})
    older = (await site.admin.post(*wanted))["items"][0]
    await site.admin.post(f"/nodes/{first.node_id}/uncordon", {})
    newer = (await site.admin.post(*wanted))["items"][0]
    assert (older["node_id"], newer["node_id"]) == (second.node_id, first.node_id)
    async with site.platform.transaction(PLATFORM, system_actor("test")) as tx:
        loaded = await AllocationReconciler(site.platform).load_many(tx.connection, [older["id"], newer["id"]])
    assert list(loaded) == [newer["id"], older["id"]]
