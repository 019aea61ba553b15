"""A drain that is planned: projects have notice, the drain begins in time, and uncordon or cordon cancels it."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from gpuaas_server.allocations.reconciler import AllocationReconciler
from gpuaas_server.kernel.context import Platform
from gpuaas_server.nodes.machine import DrainStep, decide_drain
from gpuaas_server.nodes.reconciler import DrainReconciler, MaintenanceReconciler
from gpuaas_server.work.worker import Worker
from tests_support import agents
from tests_support.agents import Json, MovableClock
from tests_support.allocation_story import Story

START = datetime(2030, 3, 1, 8, tzinfo=UTC)
NOTICE = timedelta(minutes=2)  # all of it within the life of a token


@pytest.mark.parametrize(
    ("now", "step"),
    [
        (START - timedelta(seconds=1), DrainStep(False, START)),
        (START, DrainStep(True)),
        (START + timedelta(days=1), DrainStep(True)),
    ],
)
def test_a_drain_begins_at_its_time_or_whenever_a_worker_is_there_again(now: datetime, step: DrainStep) -> None:
    assert decide_drain(START, now) == step


def set_notice(platform: Platform, notice: timedelta) -> None:
    seconds = int(notice.total_seconds())
    platform.settings = platform.settings.model_copy(update={"drain_notice_seconds": seconds})


class Drain(Story):
    """One allocation on a host, a clock that the test moves, and the reconciler of drains."""

    clock: MovableClock

    @property
    def node(self) -> str:
        return f"/nodes/{self.host.node_id}"

    async def drain(self, **more: object) -> Json:
        return await self.site.admin.post(f"{self.node}/drain", {"reason": "kernel update", **more})

    async def later(self, **span: int) -> None:
        self.clock.ahead += timedelta(**span)
        await self.work()

    async def told(self) -> list[str]:
        return [name.removeprefix("allocation.") for name in await self.events() if ".host_" in name]

    async def node_events(self) -> list[Json]:
        found: list[Json] = (await self.site.admin.get(f"/events?subject={self.host.node_id}"))["items"]
        return [event for event in found if "drain" in event["type"]]


@pytest.fixture
async def story(platform: Platform) -> AsyncIterator[Drain]:
    clock = MovableClock()
    platform.clock = clock
    set_notice(platform, NOTICE)
    async with agents.opened(platform) as site:
        story = await Drain.begin(site)
        story.clock = story.host.clock = clock
        reconcilers = [AllocationReconciler(platform), MaintenanceReconciler(), DrainReconciler()]
        story.worker = Worker(platform, reconcilers)
        await story.create()
        yield story


async def test_projects_have_notice_of_a_drain_and_it_begins_by_itself(story: Drain) -> None:
    planned = await story.drain()
    assert (planned["cordoned"], planned["schedulable"], planned["draining"]) == (True, False, False)
    assert planned["maintenance"]["reason"] == "kernel update"
    shown = await story.show()
    assert (shown["state"], shown["health"]) == ("active", "healthy")
    (reason,) = shown["health_reasons"]
    assert (reason["code"], reason["since"]) == ("host_drain_planned", planned["drain_at"])
    assert reason["choices"] == ["wait", "release", "replace"]
    assert planned["drain_at"][:16].replace("T", " ") in reason["message"]
    assert "kernel update" in reason["message"]
    await story.later(minutes=1)
    assert (await story.show())["state"] == "active"
    await story.later(minutes=2)
    node = await story.site.admin.get(story.node)
    assert (node["draining"], node["drain_at"]) == (True, None)
    assert await story.settle(clean=True) == "released"
    assert (await story.site.admin.get(story.node))["drained"]
    assert await story.told() == ["host_drain_planned", "host_draining"]
    assert [event["type"] for event in await story.node_events()] == ["node.drain_planned", "node.draining"]
    assert (await story.node_events())[0]["data"]["starts_at"] == planned["drain_at"].replace("Z", "+00:00")
    trail = (await story.site.admin.get(f"/audit?resource_id={story.host.node_id}"))["items"]
    begun, asked = [row for row in trail if "drain" in row["action"]]
    assert [begun["action"], asked["action"]] == ["node_drain_start", "node_drain"]
    assert node["maintenance"]["by"] == asked["actor_id"] != begun["actor_id"]


@pytest.mark.parametrize("verb", ["uncordon", "cordon"])
async def test_a_planned_drain_is_cancelled(story: Drain, verb: str) -> None:
    planned = await story.drain()
    assert {"node_drain", "node_cordon", "node_uncordon"} <= set(planned["allowed_actions"])
    node = await story.site.admin.post(f"{story.node}/{verb}", {"reason": "not now"} if verb == "cordon" else {})
    assert (node["drain_at"], node["cordoned"]) == (None, verb == "cordon")
    await story.later(minutes=3)
    assert (await story.show())["state"] == "active"
    assert await story.told() == ["host_drain_planned", "host_drain_cancelled", f"host_{verb}ed"]
    assert [event["type"] for event in await story.node_events()] == ["node.drain_planned", "node.drain_cancelled"]


async def test_a_drain_that_is_planned_again_begins_at_the_later_time_or_at_once(story: Drain) -> None:
    await story.drain()
    later = (story.clock() + timedelta(minutes=4)).isoformat()
    moved = await story.drain(starts_at=later)
    assert datetime.fromisoformat(moved["drain_at"]) == datetime.fromisoformat(later)
    await story.later(minutes=3)
    assert (await story.show())["state"] == "active"
    now = await story.drain(starts_at=story.clock().isoformat())
    assert (now["draining"], now["drain_at"]) == (True, None)
    assert (await story.show())["state"] == "releasing"
    refused = await story.site.admin.call("POST", f"{story.node}/drain", {"reason": "again and again"})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    await story.later(minutes=2)
    assert (await story.told()).count("host_draining") == 1


async def test_nobody_waits_for_a_drain_that_nobody_needs_notice_of(story: Drain) -> None:
    await story.lose_host()
    assert (await story.drain())["draining"]
    await story.work()
    assert (await story.show())["failure"]["code"] == "host_lost"
    await story.site.admin.post(f"{story.node}/uncordon")
    await story.bring_host_back()
    assert await story.settle(clean=True) == "released"
    assert (await story.drain())["drained"]


async def test_a_platform_without_notice_drains_at_once(story: Drain) -> None:
    set_notice(story.site.platform, timedelta())
    assert (await story.drain())["draining"]
    assert (await story.show())["state"] == "releasing"


async def test_the_end_of_a_maintenance_window_does_not_cancel_a_planned_drain(story: Drain) -> None:
    span = {
        "starts_at": (story.clock() + timedelta(seconds=30)).isoformat(),
        "ends_at": (story.clock() + timedelta(minutes=1)).isoformat(),
    }
    window = {"reason": "kernel update", "cordon_from_now": True, **span}
    await story.site.admin.post(f"{story.node}/maintenance-windows", window)
    planned = await story.drain(starts_at=(story.clock() + timedelta(minutes=3)).isoformat())
    await story.later(seconds=40)
    await story.later(seconds=40)
    node = await story.site.admin.get(story.node)
    assert (node["cordoned"], node["drain_at"]) == (True, planned["drain_at"])
    await story.later(minutes=2)
    assert (await story.site.admin.get(story.node))["draining"]


async def test_a_retired_node_has_no_drain_to_come(story: Drain) -> None:
    await story.drain()
    await story.ask("release")
    assert await story.settle(clean=True) == "released"
    retired = await story.site.admin.post(f"{story.node}/retire", {"reason": "sold to somebody"})
    assert (retired["status"], retired["drain_at"]) == ("retired", None)
    await story.later(minutes=3)
    assert not (await story.site.admin.get(story.node))["draining"]
