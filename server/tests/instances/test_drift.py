"""Members that drift are brought back without a person, by policy of the instance: few times, visibly, never in a loop."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from tests_support import apps
from tests_support.agents import Json
from tests_support.apps import AppSite


@pytest.fixture
async def world(settings: Settings) -> AsyncIterator[AppSite]:
    """Its tokens live for an hour, since these tests let time pass."""
    async with (
        running_platform(settings.model_copy(update={"token_minutes": 60})) as platform,
        apps.opened(platform) as site,
    ):
        yield site


async def _report(world: AppSite, instance_id: str, status: str = "failed") -> None:
    instance = await world.instance(instance_id)
    member = (await world.members(instance_id))[2]
    told = {"member_id": member["id"], "status": status, "message": "The process died."}
    body = {"status": "healthy", "generation": instance["generation"], "members": [told]}
    answer = await world.controller.person.call("PUT", f"{world.path}/instances/{instance_id}/health", body)
    assert answer.status_code == 200, answer.text
    await world.settle()


async def _running(world: AppSite, policy: str) -> str:
    instance_id, operation_id = await world.created(reconcile_policy=policy)
    await world.controller.carry_out(operation_id)
    await world.controller.work()  # it is seen: an app without a controller is not reconciled
    return instance_id


async def _pass(world: AppSite, **time: float) -> None:
    """Let time pass. The controller polls on, as it does."""
    world.clock.ahead += timedelta(**time)
    await world.controller.work()
    await world.settle()


async def _live(world: AppSite, instance_id: str) -> Json | None:
    operation_id = (await world.instance(instance_id))["operation_id"]
    return None if operation_id is None else await world.operation(operation_id)


async def _mends(world: AppSite, instance_id: str, operation_id: str) -> None:
    ready = [{"member_id": one["id"], "status": "ready"} for one in await world.members(instance_id)]
    await world.controller.carry_out(operation_id, members=ready)


async def _operations(world: AppSite, instance_id: str) -> list[Json]:
    found: list[Json] = (await world.admin.get(f"{world.path}/operations?instance_id={instance_id}"))["items"]
    return [one for one in found if one["kind"] == "reconcile"]


async def test_with_auto_a_dead_member_is_brought_back_without_a_person(world: AppSite) -> None:
    instance_id = await _running(world, "auto")
    await _report(world, instance_id)
    noticed = (await world.instance(instance_id))["drift"]
    assert (noticed["state"], noticed["attempts_left"], noticed["members"][0]["code"]) == (
        "scheduled",
        3,
        "member_failed",
    )
    await _pass(world, seconds=6)
    operation = await _live(world, instance_id)
    assert operation is not None
    assert (operation["kind"], operation["requested_by"], operation["requested_by_name"]) == (
        "reconcile",
        "system",
        "platform",
    )
    assert "The process died." in operation["reason"]
    shown = (await world.instance(instance_id))["drift"]
    assert (shown["state"], shown["operation_id"], shown["attempts_left"]) == ("reconciling", operation["id"], 2)
    await _mends(world, instance_id, operation["id"])
    await world.settle()
    healed = await world.instance(instance_id)
    assert (healed["health"], healed["drift"]) == ("healthy", None)
    told = await world.timeline(instance_id)
    for name in ("instance.drift_noticed", "instance.reconcile_requested", "instance.drift_cleared"):
        assert told.count(name) == 1
    audit = await world.admin.get(f"{world.path}/audit?action=instance_reconcile")
    assert [(one["actor_id"], one["details"]["operation"]) for one in audit["items"]] == [("system", operation["id"])]


async def test_a_member_that_always_dies_gets_the_budget_and_then_a_person_is_told(world: AppSite) -> None:
    instance_id = await _running(world, "auto")
    for _ in range(6):
        await _report(world, instance_id)
        await _pass(world, minutes=5)
        operation = await _live(world, instance_id)
        if operation is not None:
            await _mends(world, instance_id, operation["id"])
    assert len(await _operations(world, instance_id)) == 3
    await _report(world, instance_id)
    drift = (await world.instance(instance_id))["drift"]
    assert (drift["state"], drift["code"]) == ("stopped", "budget_used_up")
    assert "3 attempts in an hour did not help" in drift["message"]
    assert "`auto` again" in drift["next_step"]
    assert (await world.timeline(instance_id)).count("instance.reconcile_stopped") == 1
    await _pass(world, minutes=15)
    assert len(await _operations(world, instance_id)) == 3, "it stays stopped while the drift is there"
    path = f"{world.path}/instances/{instance_id}"
    stale = await world.admin.call("PATCH", path, {"reconcile_policy": "auto"}, if_match=1)
    assert stale.status_code == 412
    assert (await world.admin.call("PATCH", path, {"reconcile_policy": "auto"})).status_code == 200
    await _pass(world, seconds=6)
    assert len(await _operations(world, instance_id)) == 4


async def test_with_notify_it_is_told_and_with_off_nothing_happens(world: AppSite) -> None:
    instance_id = await _running(world, "notify")
    await _report(world, instance_id)
    await _pass(world, minutes=20)
    drift = (await world.instance(instance_id))["drift"]
    assert (drift["state"], drift["attempts"]) == ("noticed", [])
    path = f"{world.path}/instances/{instance_id}"
    off = (await world.admin.call("PATCH", path, {"reconcile_policy": "off"})).json()
    assert (off["reconcile_policy"], off["drift"]) == ("off", None)
    await _pass(world, minutes=20)
    assert await _operations(world, instance_id) == []
    assert (await world.timeline(instance_id)).count("instance.drift_noticed") == 1


async def test_what_a_person_asks_for_goes_first_and_a_cancel_ends_the_attempts(world: AppSite) -> None:
    instance_id = await _running(world, "auto")
    await _report(world, instance_id)
    await _pass(world, seconds=6)
    own = await _live(world, instance_id)
    assert own is not None
    restart = await world.asked(instance_id, "restart")
    assert (await world.operation(own["id"]))["status"] == "cancelled"
    await world.controller.carry_out(restart)
    await world.settle()
    assert (await world.instance(instance_id))["drift"] is None
    await _report(world, instance_id)
    await _pass(world, seconds=6)
    again = await _live(world, instance_id)
    assert again is not None
    await world.admin.post(f"{world.path}/operations/{again['id']}/cancel", {})
    await _pass(world, minutes=20)
    drift = (await world.instance(instance_id))["drift"]
    assert (drift["state"], drift["code"]) == ("stopped", "cancelled")
    assert len(await _operations(world, instance_id)) == 2


async def test_without_a_controller_or_while_stopped_nothing_is_asked_for(world: AppSite) -> None:
    instance_id = await _running(world, "auto")
    world.clock.ahead += timedelta(minutes=10)  # its controller has not polled since
    await _report(world, instance_id)
    world.clock.ahead += timedelta(seconds=6)
    await world.settle()
    drift = (await world.instance(instance_id))["drift"]
    assert (drift["state"], drift["code"]) == ("blocked", "silent")
    await world.controller.work()
    await _report(world, instance_id)
    await _pass(world, seconds=6)
    assert await _live(world, instance_id) is not None, "it is there again"
    await world.controller.carry_out(await world.asked(instance_id, "stop"))
    await world.settle()
    await _pass(world, minutes=20)
    stopped = await world.instance(instance_id)
    assert (stopped["status"], stopped["drift"], stopped["operation_id"]) == ("stopped", None, None)
