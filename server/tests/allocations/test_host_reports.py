"""A tenant reports its host as broken: the GPUs stay out of the pool after the release, until an operator clears it."""

from collections.abc import AsyncIterator

import pytest

from gpuaas_server.kernel.context import Platform
from tests_support import agents
from tests_support.agents import Json
from tests_support.allocation_story import Story


@pytest.fixture
async def story(platform: Platform) -> AsyncIterator[Story]:
    async with agents.opened(platform) as site:
        story = await Story.begin(site)
        await story.create()
        yield story


async def report(story: Story) -> Json:
    return await story.site.admin.post(f"{story.path}/host-reports", {"reason": "GPU 1 falls off the bus"})


async def test_a_reported_host_is_released_to_the_operators_and_not_to_the_pool(story: Story) -> None:
    made = await report(story)
    shown = await story.show()
    assert (shown["health"], shown["health_reasons"][0]["code"]) == ("degraded", "reported_broken")
    await story.ask("release")
    assert await story.settle(clean=True) == "released"
    assert await story.slots() == [("disabled", f"reported broken ({made['id']})")] * 2
    assert await story.used() == (0, 0)
    refused = await story.site.admin.call("POST", f"/projects/{story.project}/allocations", {"sku": "whole"})
    assert refused.json()["code"] in ("no_capacity", "capacity_blocked")
    (listed,) = (await story.site.admin.get(f"/host-reports?node_id={story.host.node_id}&cleared=false"))["items"]
    assert (listed["id"], listed["allowed_actions"]) == (made["id"], ["host_report_clear"])
    cleared = await story.site.admin.post(f"/host-reports/{made['id']}/clear", {"reason": "riser reseated"})
    assert cleared["cleared_reason"] == "riser reseated"
    assert await story.slots() == [("available", None)] * 2
    await story.create()
    told = [name for name in await story.events() if ".host_" in name]
    assert told == ["allocation.host_reported", "allocation.host_report_cleared"]
    audit = await story.site.admin.get(f"/audit?resource_id={made['id']}")
    assert {row["action"] for row in audit["items"]} == {"host_report_create", "host_report_clear"}


async def test_a_report_that_was_cleared_before_the_release_keeps_nothing_back(story: Story) -> None:
    made = await report(story)
    await story.site.admin.post(f"/host-reports/{made['id']}/clear", {"reason": "nothing found"})
    again = await story.site.admin.call("POST", f"/host-reports/{made['id']}/clear", {"reason": "once more"})
    assert again.status_code == 409
    assert (await story.show())["health"] == "healthy"
    await story.ask("release")
    assert await story.settle(clean=True) == "released"
    assert await story.slots() == [("available", None)] * 2


async def test_what_an_operator_disabled_is_not_enabled_by_clearing_a_report(story: Story) -> None:
    made = await report(story)
    await story.ask("release")
    await story.settle(clean=True)
    slots = (await story.site.admin.get(f"/nodes/{story.host.node_id}/slots"))["items"]
    await story.site.admin.post(f"/slots/{slots[0]['id']}/disable", {"reason": "RMA 99"})
    await story.site.admin.post(f"/host-reports/{made['id']}/clear", {"reason": "the other one is fine"})
    assert sorted(await story.slots()) == [("available", None), ("disabled", "RMA 99")]


async def test_a_host_is_reported_once_and_a_tenant_has_a_limit(story: Story) -> None:
    await report(story)
    twice = await story.site.admin.call("POST", f"{story.path}/host-reports", {"reason": "still broken"})
    assert twice.json()["code"] == "already_exists"
    await story.ask("release")
    await story.settle(clean=True)
    (open_report,) = (await story.site.admin.get("/host-reports?cleared=false"))["items"]
    ended = await story.site.admin.call("POST", f"{story.path}/host-reports", {"reason": "too late"})
    assert ended.json()["code"] == "conflict"
    slots = (await story.site.admin.get(f"/nodes/{story.host.node_id}/slots"))["items"]
    for one in slots:  # an operator may overrule the report, which stays open
        await story.site.admin.post(f"/slots/{one['id']}/enable")
    await story.create()
    platform = story.site.platform
    platform.settings = platform.settings.model_copy(update={"host_reports_per_tenant": 1})
    refused = await story.site.admin.call("POST", f"{story.path}/host-reports", {"reason": "another one"})
    assert (refused.status_code, refused.json()["code"]) == (409, "too_many_host_reports")
    await story.site.admin.post(f"/host-reports/{open_report['id']}/clear", {"reason": "looked at"})
    await report(story)
