"""A lost host: its project is told, the allocation says so, and a release ends at once without freeing unproven slots."""

from collections.abc import AsyncIterator

import pytest

from gpuaas_server.kernel.context import Platform
from gpuaas_server.nodes.machine import LivenessVerdict
from tests_support import agents
from tests_support.agents import Host, inventory, slot
from tests_support.allocation_story import Story

BLOCKED = [("cleanup_blocked", "host_lost")] * 2


@pytest.fixture
async def story(platform: Platform) -> AsyncIterator[Story]:
    async with agents.opened(platform) as site:
        story = await Story.begin(site)
        await story.create()
        yield story


async def test_the_project_is_notified_that_its_host_is_lost_and_back(story: Story) -> None:
    assert (await story.show())["health"] == "healthy"
    await story.lose_host()
    shown = await story.show()
    assert (shown["state"], shown["health"]) == ("active", "unhealthy")
    (reason,) = shown["health_reasons"]
    assert (reason["code"], reason["choices"]) == ("host_lost", ["wait", "release", "replace"])
    assert reason["since"]
    (listed,) = (await story.site.admin.get(f"/projects/{story.project}/allocations"))["items"]
    assert listed["health_reasons"] == shown["health_reasons"]
    await story.bring_host_back()
    await story.work()
    shown = await story.show()
    assert (shown["state"], shown["health"], shown["health_reasons"]) == ("active", "healthy", [])
    assert (await story.events())[-2:] == ["allocation.host_lost", "allocation.host_back"]


async def test_a_release_on_a_lost_host_ends_at_once_for_the_tenant_and_keeps_the_slots(story: Story) -> None:
    await story.lose_host()
    await story.ask("release")
    await story.work()
    shown = await story.show()
    assert (shown["state"], shown["failure"]["code"], shown["ssh"]) == ("release_failed", "host_lost", None)
    assert shown["wipe_verified"] is False
    assert await story.slots() == BLOCKED
    assert (await story.used(), await story.unproven()) == ((0, 0), (2, 2))
    assert await story.host.poll() == []


async def test_only_a_proven_wipe_frees_the_slots_when_the_host_is_back(story: Story) -> None:
    await story.lose_host()
    await story.ask("release")
    await story.work()
    await story.bring_host_back()
    await story.work()
    assert [status for status, _ in await story.slots()] == ["cleaning", "cleaning"]
    assert [task["kind"] for task in await story.host.poll()] == ["deprovision"]
    assert await story.settle(clean=True) == "released"
    assert [status for status, _ in await story.slots()] == ["available", "available"]
    assert (await story.show())["wipe_verified"] is True
    assert await story.used() == await story.unproven() == (0, 0)


async def test_a_host_that_is_back_but_not_clean_stays_out_of_the_pool_for_a_person_to_look_at(story: Story) -> None:
    await story.lose_host()
    await story.ask("release")
    await story.work()
    await story.bring_host_back()
    assert await story.settle(clean=False) == "release_failed"
    assert await story.slots() == [("cleanup_blocked", "wipe_not_proven")] * 2
    assert await story.unproven() == (2, 2)
    await story.lose_host()
    await story.bring_host_back()
    await story.work()
    assert (await story.show())["state"] == "release_failed"


async def test_a_failed_wipe_still_counts_as_unproven_when_the_retry_meets_a_lost_host(story: Story) -> None:
    await story.ask("release")
    assert await story.settle(clean=False) == "release_failed"
    await story.lose_host()
    await story.ask("retry-release")
    await story.work()
    assert (await story.show())["failure"]["code"] == "host_lost"
    assert await story.unproven() == (2, 2)
    await story.bring_host_back()
    assert await story.settle(clean=True) == "released"
    assert await story.used() == await story.unproven() == (0, 0)


async def test_a_replaced_allocation_on_a_lost_host_counts_as_unproven_at_once_and_until_its_wipe_is_proven(
    story: Story,
) -> None:
    await _add_host(story)
    await _limit_gpus(story, gpu_limit=2)
    await story.lose_host()
    await story.ask("replace")
    assert (await story.used(), await story.unproven()) == ((2, 2), (2, 2))
    await story.work()
    assert (await story.used(), await story.unproven()) == ((2, 2), (2, 2))
    await story.bring_host_back()
    assert await story.settle(clean=False) == "release_failed"
    assert (await story.used(), await story.unproven()) == ((2, 2), (2, 2))
    await story.ask("retry-release")
    assert await story.settle(clean=True) == "released"
    assert (await story.used(), await story.unproven()) == ((2, 2), (0, 0))


@pytest.mark.parametrize("verb", ["release", "replace"])
async def test_a_tenant_that_loses_host_after_host_gets_no_more_of_them(story: Story, verb: str) -> None:
    """Root on a host can silence it. Each time, the host leaves the pool: that must not be for nothing."""
    second = await _add_host(story)
    await _add_host(story)
    await _limit_gpus(story, unproven_gpu_limit=2)
    await story.lose_host()
    path = f"/projects/{story.project}/allocations"
    if verb == "release":
        made = (await story.site.admin.post(path, {"sku": "whole"}))["items"][0]
        await story.ask("release")
    else:
        made = await story.site.admin.post(f"{path}/{story.allocation}/replace", {})
    await story.work()
    assert made["node_id"] == second.node_id
    await story.judge_host(LivenessVerdict(lost=(second.node_id,)))
    for refused in (
        await story.site.admin.call("POST", f"{path}/{made['id']}/replace", {}),
        await story.site.admin.call("POST", path, {"sku": "whole"}),
    ):
        problem = refused.json()
        assert (refused.status_code, problem["code"]) == (409, "unproven_releases")
        assert (problem["details"]["used"], problem["details"]["limit"]) == (2, 2)
    assert (await story.site.admin.get(f"{path}/{made['id']}"))["release_by"] is None
    assert (await story.used(), await story.unproven()) == ((2, 2), (2, 2))
    await story.bring_host_back()
    assert await story.settle(clean=True) == "released"
    await story.site.admin.post(f"{path}/{made['id']}/replace", {})


async def _add_host(story: Story) -> Host:
    host = await story.site.host()
    await host.call("POST", "/inventory", inventory(*(slot(n) for n in range(2))))
    await story.site.admin.post(f"/nodes/{host.node_id}/slots/approve", {})
    return host


async def _limit_gpus(story: Story, **limits: int) -> None:
    await story.site.admin.call("PUT", f"/tenants/{story.tenant}/quota", {"gpu_limit": None, **limits})


async def test_a_release_under_way_is_blocked_when_its_host_is_lost_and_goes_on_when_it_is_back(story: Story) -> None:
    await story.ask("release")
    await story.work()
    assert (await story.show())["phase"] == "deprovision"
    await story.lose_host()
    await story.work()
    assert await story.slots() == BLOCKED
    await story.bring_host_back()
    assert await story.settle(clean=True) == "released"


async def test_a_clean_up_after_failed_provisioning_is_blocked_on_a_lost_host(story: Story) -> None:
    await story.ask("release")
    assert await story.settle(clean=True) == "released"
    made = await story.site.admin.post(f"/projects/{story.project}/allocations", {"sku": "whole"})
    story.allocation = made["items"][0]["id"]
    await story.work()
    await story.lose_host()
    (task,) = await story.host.poll()
    await story.host.report(task, "failed", failure={"code": "x", "message": "no", "next_step": "", "retryable": False})
    await story.work()
    assert (await story.show())["state"] == "release_failed"
    assert await story.slots() == BLOCKED


async def test_cordon_and_drain_reach_the_project(story: Story) -> None:
    node = f"/nodes/{story.host.node_id}"
    await story.site.admin.post(f"{node}/cordon", {"reason": "kernel update on Friday"})
    shown = await story.show()
    assert shown["health"] == "healthy"
    assert shown["health_reasons"][0]["code"] == "host_cordoned"
    assert "kernel update on Friday" in shown["health_reasons"][0]["message"]
    await story.site.admin.post(f"{node}/uncordon")
    assert (await story.show())["health_reasons"] == []
    await story.site.admin.post(f"{node}/drain", {"reason": "kernel update", "starts_at": "2000-01-01T00:00:00Z"})
    told = [name for name in await story.events() if ".host_" in name]
    assert told == ["allocation.host_cordoned", "allocation.host_uncordoned", "allocation.host_draining"]
