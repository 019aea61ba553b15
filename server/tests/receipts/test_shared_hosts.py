"""Two members of one instance on one host: the footprint is the app's, so the host is asked when the last of them goes."""

from collections.abc import AsyncIterator

import pytest

from gpuaas_server.kernel.context import Platform
from tests_support import apps, manifests
from tests_support.agents import Json
from tests_support.apps import AppSite


@pytest.fixture
async def world(platform: Platform) -> AsyncIterator[AppSite]:
    async with apps.opened(platform) as opened:
        yield opened


async def receipts_of(world: AppSite, operation_id: str) -> list[Json]:
    found: list[Json] = (await world.admin.get(f"{world.path}/receipts?operation_id={operation_id}"))["items"]
    return found


async def remove(world: AppSite, instance_id: str, member_id: str) -> str:
    answer = await world.change_members(instance_id, "remove", targets=[member_id])
    assert answer.status_code in (200, 201), answer.text
    operation_id = str(answer.json()["id"])
    await world.controller.carry_out(operation_id)
    await world.settle()
    return operation_id


async def test_a_host_that_another_member_still_uses_is_not_asked_before_the_last_one_goes(world: AppSite) -> None:
    instance_id = await world.running(nodes=3)
    members = await world.members(instance_id)
    head = next(one for one in members if one["component_key"] == "head")
    nodes = [one for one in members if one["component_key"] == "node"]
    beside = next(one for one in nodes if one["allocation_id"] == head["allocation_id"])
    alone = next(one for one in nodes if one["allocation_id"] != head["allocation_id"])
    first = await remove(world, instance_id, beside["id"])
    assert (await world.operation(first))["status"] == "succeeded"
    assert await receipts_of(world, first) == []
    second = await remove(world, instance_id, alone["id"])
    assert [(one["status"], one["member_id"]) for one in await receipts_of(world, second)] == [("clean", alone["id"])]
    world.left = ["echo.service is loaded"]
    third = await world.asked(instance_id, "decommission")
    await world.controller.carry_out(third)
    await world.settle()
    assert (await world.operation(third))["failure"]["code"] == "teardown_incomplete"
    asked = {one["allocation_id"] for one in await receipts_of(world, third)}
    assert head["allocation_id"] in asked


async def test_a_forced_decommission_without_a_teardown_is_recorded_as_not_verified(world: AppSite) -> None:
    instance_id = await world.running(nodes=1)
    operation_id = await world.asked(instance_id, "decommission")
    await world.controller.does(operation_id, "claim")  # and then it is never heard of again
    forced = await world.admin.post(f"{world.path}/operations/{operation_id}/force", {"reason": "its team is gone"})
    assert forced["status"] == "failed"
    found = await receipts_of(world, operation_id)
    assert [(one["status"], one["verified"]) for one in found] == [("not_verified", False)] * 2


async def test_after_an_upgrade_that_broke_off_the_hosts_are_looked_at_for_both_versions(world: AppSite) -> None:
    instance_id = await world.running(nodes=1)
    await world.publish(version="1.3.0", footprint={"units": ["louder.service"]})
    upgrade = await world.asked(instance_id, "upgrade", version="1.3.0")
    await world.controller.does(upgrade, "claim")
    await world.controller.does(upgrade, "fail", failure={"code": "half_way", "message": "It broke off."})
    operation_id = await world.asked(instance_id, "decommission")
    await world.controller.carry_out(operation_id)
    await world.settle()
    receipts = await receipts_of(world, operation_id)
    assert receipts
    for receipt in receipts:
        asked = (await world.admin.get(f"{world.path}/receipts/{receipt['id']}"))["footprint"]["units"]
        assert {"echo.service", "louder.service"} < set(asked)


async def test_accounts_that_were_named_at_the_launch_are_looked_for_when_the_instance_goes(world: AppSite) -> None:
    footprint = manifests.document()["footprint"] | {"users_from": ["/greeting"]}
    await world.publish(version="2.0.0", footprint=footprint)
    instance_id, deploy = await world.created(nodes=1, version="2.0.0", inputs={"greeting": "ann"})
    await world.controller.carry_out(deploy)
    gone = await world.asked(instance_id, "decommission")
    await world.controller.carry_out(gone)
    await world.settle()
    assert (await world.operation(gone))["status"] == "succeeded"
    listed = (await receipts_of(world, gone))[0]
    receipt = await world.admin.get(f"{world.path}/receipts/{listed['id']}")
    looked_for = {check["name"]: check["entries"] for check in receipt["checks"]}
    assert looked_for["users"] == ["echo", "ann"]
    refused = await world.create("second", 1, version="2.0.0", inputs={"greeting": "not a name"})
    assert (refused.status_code, refused.json()["code"]) == (422, "inputs_invalid")
