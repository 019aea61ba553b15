"""Releasing an allocation stops what runs on it first; one that is gone takes its members with it."""

from datetime import timedelta

import pytest

from gpuaas_server.instances import queries
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.operations import queries as operations
from tests_support.apps import AppSite
from tests_support.select import select


async def _release(world: AppSite, number: int) -> str:
    path = f"{world.path}/allocations/{world.allocations[number]}/release"
    answer = await world.admin.post(path, {"reason": "not needed"})
    return str(answer["state"])


async def _state(world: AppSite, number: int) -> str:
    return str((await world.admin.get(f"{world.path}/allocations/{world.allocations[number]}"))["state"])


async def test_a_member_is_removed_before_its_allocation_is_released(world: AppSite) -> None:
    instance_id = await world.running()
    assert await _release(world, 1) == "active"
    await world.settle()
    assert await _state(world, 1) == "active"  # for as long as the controller works
    (item,) = await world.controller.work()
    assert item["kind"] == "remove"
    await world.controller.carry_out(item["id"])
    await world.settle()
    assert (await world.operation(item["id"]))["status"] == "succeeded"
    assert await _state(world, 1) == "released"
    instance = await world.instance(instance_id)
    assert (instance["status"], instance["member_counts"], instance["health"]) == ("running", {"ready": 2}, "healthy")
    gone = [one for one in await world.members(instance_id, removed=True) if one["status"] == "removed"]
    assert [one["verified"] for one in gone] == [True]


async def test_an_instance_that_lives_on_one_allocation_is_stopped_before_it_goes(world: AppSite) -> None:
    instance_id = await world.running(nodes=1)
    await _release(world, 0)
    (item,) = await world.controller.work()
    assert item["kind"] == "stop"
    await world.controller.carry_out(item["id"])
    await world.settle()
    assert await _state(world, 0) == "released"
    instance = await world.instance(instance_id)
    assert instance["status"] == "stopped"
    assert {one["failure"]["code"] for one in await world.members(instance_id)} == {"allocation_ended"}
    operation_id = await world.asked(instance_id, "decommission")
    await world.controller.carry_out(operation_id)
    assert (await world.operation(operation_id))["status"] == "succeeded"  # there is no host left to look at


async def test_a_release_waits_for_the_operation_that_is_in_the_way(world: AppSite) -> None:
    instance_id = await world.running()
    operation_id = await world.asked(instance_id, "reconcile")
    await world.controller.does(operation_id, "claim")
    await _release(world, 1)
    await world.controller.does(operation_id, "complete")
    (item,) = await world.controller.work()
    assert item["kind"] == "remove"
    await world.controller.carry_out(item["id"])
    await world.settle()
    assert await _state(world, 1) == "released"


async def test_a_release_goes_on_when_the_decommission_that_was_under_way_has_ended(world: AppSite) -> None:
    instance_id = await world.running(nodes=1)
    operation_id = await world.asked(instance_id, "decommission")
    await world.controller.does(operation_id, "claim")
    assert await _release(world, 0) == "active"
    await world.settle()
    assert await _state(world, 0) == "active"
    await world.controller.does(operation_id, "complete")
    await world.settle()
    assert (await world.operation(operation_id))["status"] == "succeeded"
    assert await _state(world, 0) == "released", "nobody is there any more, and it is known at once"


async def test_a_release_goes_on_when_the_removal_of_a_drained_member_has_ended(world: AppSite) -> None:
    instance_id = await world.running()
    (member,) = [one for one in await world.members(instance_id) if one["allocation_id"] == world.allocations[1]]
    for kind in ("drain", "remove"):
        operation_id = (await world.change_members(instance_id, kind, targets=[member["id"]])).json()["id"]
        await world.controller.does(operation_id, "claim")
        if kind == "remove":
            assert await _release(world, 1) == "active"
            await world.settle()
        await world.controller.does(operation_id, "complete")
        await world.settle()
    assert await _state(world, 1) == "released"
    assert await world.controller.work() == [], "what had been removed is not asked to leave again"


async def test_a_release_does_not_wait_for_ever(world: AppSite) -> None:
    instance_id = await world.running()
    await _release(world, 1)
    world.clock.ahead += timedelta(minutes=14)  # the token lives for 15
    await world.settle()
    assert await _state(world, 1) == "active"
    world.clock.ahead += timedelta(minutes=2)
    await world.settle()
    async with world.platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT state FROM allocations WHERE id = %s", (world.allocations[1],))
        assert (await cursor.fetchone() or {})["state"] == "released"
        cursor = await select(
            connection,
            "SELECT status, host_gone FROM app_members WHERE instance_id = %s AND allocation_id = %s",
            (instance_id, world.allocations[1]),
        )
        assert await cursor.fetchall() == [{"status": "failed", "host_gone": True}]


async def test_a_failed_departure_lets_the_release_go_on(world: AppSite) -> None:
    instance_id = await world.running()
    await _release(world, 1)
    (item,) = await world.controller.work()
    await world.controller.does(item["id"], "claim")
    await world.controller.does(item["id"], "fail", failure={"code": "no_way_in", "message": "The host is silent."})
    await world.settle()
    assert await _state(world, 1) == "released"
    (lost,) = [one for one in await world.members(instance_id) if one["status"] == "failed"]
    assert (lost["failure"]["code"], lost["allocation_id"]) == ("allocation_ended", world.allocations[1])
    assert (await world.instance(instance_id))["health"] == "degraded"
    removing = (await world.change_members(instance_id, "remove", targets=[lost["id"]])).json()["id"]
    claimed = await world.controller.does(removing, "claim")
    assert [one["host_gone"] for one in claimed["members"] if one["concerned"]] == [True]
    ended = await world.controller.does(removing, "complete")
    assert ended["status"] == "succeeded"
    assert (await world.instance(instance_id))["health"] == "healthy"


async def test_when_every_host_is_gone_the_instance_has_failed(world: AppSite) -> None:
    instance_id = await world.running(nodes=1)
    await _release(world, 0)
    (item,) = await world.controller.work()
    await world.controller.does(item["id"], "claim")
    await world.controller.does(item["id"], "fail", failure={"code": "no_way_in", "message": "The host is silent."})
    await world.settle()
    instance = await world.instance(instance_id)
    assert (instance["status"], instance["health"]) == ("failed", "unhealthy")
    assert await _state(world, 0) == "released"


async def test_a_deploy_that_nobody_began_is_called_off_when_its_allocation_goes(world: AppSite) -> None:
    instance_id, operation_id = await world.created()
    await _release(world, 1)
    await world.settle()
    assert await _state(world, 1) == "released"
    assert (await world.operation(operation_id))["status"] == "cancelled"
    instance = await world.instance(instance_id)
    assert (instance["status"], instance["failure"]["code"]) == ("failed", "cancelled")


async def test_a_row_of_adds_is_called_off_as_a_whole_and_each_of_them_once(world: AppSite) -> None:
    instance_id = await world.running(nodes=1)
    wanted = {"kind": "add", "component_key": "node", "allocation_ids": world.allocations[1:4], "on_failure": "stop"}
    bulk = await world.asked(instance_id, "member-operations", **wanted)
    await _release(world, 2)
    ended = await world.operation(bulk)
    assert (ended["status"], ended["children"]) == ("cancelled", {"cancelled": 3})
    children = (await world.admin.get(f"{world.path}/operations?parent_id={bulk}"))["items"]
    assert {child["failure"]["code"] for child in children} == {"cancelled"}
    assert (await world.timeline(instance_id)).count("operation.cancelled") == 4
    await world.settle()
    assert await _state(world, 2) == "released"
    assert (await world.instance(instance_id))["health"] == "healthy"


async def test_a_change_that_changes_nothing_is_not_silent(world: AppSite) -> None:
    async with world.platform.database.connection(PLATFORM) as connection:
        with pytest.raises(LookupError):
            await operations.operation_change(connection, new_id("op"), {"deferred": False})
        with pytest.raises(LookupError):
            await queries.instance_change(connection, new_id("ins"), {"flags": []}, grow=True)
