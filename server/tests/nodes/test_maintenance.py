"""Planned maintenance: projects are told, the host is cordoned in time, and opened again when it is over."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from gpuaas_server.allocations.reconciler import AllocationReconciler
from gpuaas_server.kernel.context import Platform
from gpuaas_server.nodes.machine import WindowStep, decide_window
from gpuaas_server.nodes.reconciler import MaintenanceReconciler
from gpuaas_server.work.worker import Worker
from tests_support import agents
from tests_support.agents import Json, MovableClock
from tests_support.allocation_story import Story

START = datetime(2030, 3, 1, 8, tzinfo=UTC)
END = START + timedelta(hours=2)
MOMENT = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("state", "now", "step"),
    [
        ("planned", START - MOMENT, WindowStep(None, START)),
        ("planned", START, WindowStep("active", END)),
        ("active", START + MOMENT, WindowStep(None, END)),
        ("active", END, WindowStep("ended", None)),
        ("planned", END, WindowStep("ended", None)),
    ],
)
def test_a_window_begins_and_ends_in_time(state: str, now: datetime, step: WindowStep) -> None:
    assert decide_window(state, START, END, now) == step


class Maintenance(Story):
    """One allocation on a host, a clock that the test moves, and the reconciler of the windows."""

    clock: MovableClock

    @property
    def node(self) -> str:
        return f"/nodes/{self.host.node_id}"

    async def plan(self, **more: object) -> Json:
        starts_at = self.clock() + timedelta(minutes=2)  # all of it within the life of a token
        span = {"starts_at": starts_at.isoformat(), "ends_at": (starts_at + timedelta(minutes=3)).isoformat()}
        reason = {"reason": "kernel update"}
        return await self.site.admin.post(f"{self.node}/maintenance-windows", span | reason | more)

    async def later(self, **span: int) -> None:
        self.clock.ahead += timedelta(**span)
        await self.work()

    async def window(self) -> Json:
        found: list[Json] = (await self.site.admin.get(f"/maintenance-windows?node_id={self.host.node_id}"))["items"]
        return found[0]

    async def node_facts(self) -> tuple[bool, bool]:
        shown = await self.site.admin.get(self.node)
        return shown["cordoned"], shown["schedulable"]

    async def told(self) -> list[str]:
        return [name.removeprefix("allocation.host_") for name in await self.events() if ".host_" in name]

    async def health(self) -> tuple[str, list[str]]:
        shown = await self.show()
        return shown["health"], [reason["code"] for reason in shown["health_reasons"]]


@pytest.fixture
async def story(platform: Platform) -> AsyncIterator[Maintenance]:
    clock = MovableClock()
    platform.clock = clock
    async with agents.opened(platform) as site:
        story = await Maintenance.begin(site)
        story.clock = story.host.clock = clock
        story.worker = Worker(platform, [AllocationReconciler(platform), MaintenanceReconciler()])
        await story.create()
        yield story


async def test_a_window_is_announced_cordons_its_host_and_opens_it_again(story: Maintenance) -> None:
    planned = await story.plan()
    await story.work()
    assert (planned["state"], planned["allowed_actions"]) == ("planned", ["maintenance_window_cancel"])
    assert await story.node_facts() == (False, True)
    assert "maintenance_window_plan" not in (await story.site.admin.get(story.node))["allowed_actions"]
    (reason,) = (await story.show())["health_reasons"]
    assert (reason["code"], reason["since"], reason["until"]) == (
        "maintenance_planned",
        planned["starts_at"],
        planned["ends_at"],
    )
    assert "kernel update" in reason["message"]
    assert await story.health() == ("healthy", ["maintenance_planned"])
    await story.later(minutes=3)
    assert (await story.window())["state"] == "active"
    assert await story.node_facts() == (True, False)
    assert await story.health() == ("degraded", ["maintenance_active"])
    await story.later(minutes=3)
    ended = await story.window()
    assert (ended["state"], ended["allowed_actions"], ended["finished_at"] is None) == ("ended", [], False)
    assert await story.node_facts() == (False, True)
    assert await story.health() == ("healthy", [])
    assert "maintenance_window_plan" in (await story.site.admin.get(story.node))["allowed_actions"]
    assert await story.told() == ["maintenance_planned", "maintenance_started", "maintenance_ended"]
    audited = [one["action"] for one in (await story.site.admin.get("/audit?limit=200"))["items"]]
    assert {"maintenance_window_plan", "maintenance_window_start", "maintenance_window_end"} <= set(audited)


async def test_a_host_is_kept_free_from_now_on_and_opened_again_when_the_window_is_cancelled(
    story: Maintenance,
) -> None:
    planned = await story.plan(cordon_from_now=True)
    assert await story.node_facts() == (True, False)
    assert await story.health() == ("healthy", ["maintenance_planned"])
    path = f"/maintenance-windows/{planned['id']}"
    cancelled = await story.site.admin.post(f"{path}/cancel", {"reason": "the part did not come"})
    assert (cancelled["state"], cancelled["finished_reason"]) == ("cancelled", "the part did not come")
    assert await story.node_facts() == (False, True)
    await story.later(minutes=6)
    assert await story.told() == ["maintenance_planned", "maintenance_cancelled"]
    again = await story.site.admin.call("POST", f"{path}/cancel", {"reason": "twice"})
    assert (again.status_code, again.json()["code"]) == (409, "conflict")


async def test_a_window_is_ended_early_by_a_person_and_only_while_it_goes_on(story: Maintenance) -> None:
    planned = await story.plan()
    path = f"/maintenance-windows/{planned['id']}/end"
    assert (await story.site.admin.call("POST", path, {})).status_code == 409
    await story.later(minutes=3)
    ended = await story.site.admin.post(path)
    assert (ended["state"], ended["finished_by"]) == ("ended", planned["planned_by"])
    assert await story.node_facts() == (False, True)
    await story.later(minutes=6)
    assert (await story.told())[-2:] == ["maintenance_started", "maintenance_ended"]


@pytest.mark.parametrize("verb", ["cordon", "drain"])
async def test_a_host_that_is_cordoned_for_another_reason_stays_so(story: Maintenance, verb: str) -> None:
    if verb == "cordon":  # before the window begins
        await story.site.admin.post(f"{story.node}/cordon", {"reason": "bad riser"})
    await story.plan()
    await story.later(minutes=3)
    if verb == "drain":  # while it goes on
        begun = {"starts_at": "2000-01-01T00:00:00Z"}
        await story.site.admin.post(f"{story.node}/drain", {"reason": "bad riser", **begun})
    await story.later(minutes=3)
    shown = await story.site.admin.get(story.node)
    assert (shown["cordoned"], shown["maintenance"]["reason"]) == (True, "bad riser")
    assert (await story.window())["state"] == "ended"


async def test_a_window_that_nobody_could_begin_in_its_time_ends_without_a_cordon(story: Maintenance) -> None:
    await story.plan()
    await story.later(minutes=6)
    window = await story.window()
    assert (window["state"], window["started_at"]) == ("ended", None)
    assert await story.told() == ["maintenance_planned", "maintenance_ended"]


async def test_a_node_has_one_window_at_a_time_that_lies_in_the_future(story: Maintenance) -> None:
    await story.plan()
    body = {"starts_at": "2000-01-01T00:00:00Z", "ends_at": "2999-01-01T00:00:00Z", "reason": "second one"}
    path = f"{story.node}/maintenance-windows"
    second = await story.site.admin.call("POST", path, body)
    assert (second.status_code, second.json()["code"]) == (409, "already_exists")
    for wrong in ({"ends_at": "2000-01-02T00:00:00Z"}, {"starts_at": "2999-02-01T00:00:00Z"}):
        refused = await story.site.admin.call("POST", path, body | wrong)
        assert refused.json()["code"] == "invalid_request"


async def test_the_window_of_a_retired_node_is_cancelled_with_it(story: Maintenance) -> None:
    await story.plan()
    await story.ask("release")
    assert await story.settle(clean=True) == "released"
    await story.site.admin.post(f"{story.node}/retire", {"reason": "sold to somebody"})
    window = await story.window()
    assert (window["state"], window["finished_reason"]) == ("cancelled", "the node is retired")
    await story.later(minutes=6)
    assert (await story.window())["started_at"] is None
