"""Secrets that members share are made anew when somebody who knew them has left: asked for by the platform itself."""

from typing import Any

from gpuaas_server.instances import service
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import PLATFORM
from tests_support.agents import Json
from tests_support.apps import AppSite

FAILURE = {"code": "no_way_in", "message": "The host is silent."}


async def sharing(world: AppSite, **more: Any) -> str:
    """A running instance of an app whose members share secrets, with two nodes."""
    await world.publish(version="1.5.0", shared_secrets=True, **more)
    instance_id, operation_id = await world.created("sharing", nodes=3, version="1.5.0")
    await world.controller.carry_out(operation_id)
    return instance_id


async def nodes(world: AppSite, instance_id: str) -> list[str]:
    return [one["id"] for one in await world.members(instance_id) if one["component_key"] == "node"]


async def remove(world: AppSite, instance_id: str, *members: str) -> str:
    return await world.asked(instance_id, "member-operations", kind="remove", targets=list(members))


async def rotation(world: AppSite, instance_id: str) -> Json | None:
    """The one that works on the instance now."""
    operation_id = (await world.instance(instance_id))["operation_id"]
    if operation_id is None:
        return None
    found = await world.operation(operation_id)
    return found if found["parameters"].get("rotate_secrets") is True else None


async def rotations(world: AppSite, instance_id: str) -> int:
    found = (await world.admin.get(f"{world.path}/operations?instance_id={instance_id}&limit=100"))["items"]
    return sum(one["parameters"].get("rotate_secrets") is True for one in found)


async def reasons(world: AppSite, instance_id: str) -> list[str]:
    return [one["code"] for one in (await world.instance(instance_id))["health_reasons"]]


async def test_a_member_that_left_is_followed_by_a_rotation_that_the_controller_carries_out(world: AppSite) -> None:
    instance_id = await sharing(world)
    await world.controller.carry_out(await remove(world, instance_id, (await nodes(world, instance_id))[0]))
    await world.settle()
    asked = await rotation(world, instance_id)
    assert asked is not None
    assert (asked["kind"], asked["status"], asked["target"]) == ("reconcile", "pending", "instance")
    claimed = await world.controller.does(asked["id"], "claim")
    assert {one["component_key"] for one in claimed["members"] if one["concerned"]} == {"head", "node"}, "all who stay"
    await world.controller.does(asked["id"], "complete")
    assert (await world.instance(instance_id))["operation_id"] is None
    assert (await rotations(world, instance_id), await reasons(world, instance_id)) == (1, [])


async def test_many_that_leave_together_are_one_rotation_after_the_last(world: AppSite) -> None:
    instance_id = await sharing(world)
    parent = await remove(world, instance_id, *(await nodes(world, instance_id))[:2])
    for item in await world.controller.work():
        await world.controller.does(item["id"], "claim")
        await world.controller.does(item["id"], "complete")
    await world.settle()
    assert (await world.operation(parent))["status"] == "succeeded"
    assert await rotation(world, instance_id) is not None
    assert await rotations(world, instance_id) == 1


async def test_a_rotation_that_failed_is_said_and_asked_for_again_after_the_next_operation(world: AppSite) -> None:
    instance_id = await sharing(world)
    await world.controller.carry_out(await remove(world, instance_id, (await nodes(world, instance_id))[0]))
    await world.settle()
    first = await rotation(world, instance_id)
    assert first is not None
    await world.controller.does(first["id"], "claim")
    await world.controller.does(first["id"], "fail", failure=FAILURE)
    shown = await world.instance(instance_id)
    assert (shown["operation_id"], shown["health"]) == (None, "degraded"), "it is not tried in a circle"
    assert "secrets_not_rotated" in await reasons(world, instance_id)
    await world.controller.carry_out(await world.asked(instance_id, "reconcile"))
    second = await rotation(world, instance_id)
    assert second is not None
    await world.controller.carry_out(second["id"])
    assert await reasons(world, instance_id) == []


async def test_a_member_whose_host_is_gone_is_one_that_left(world: AppSite) -> None:
    instance_id = await sharing(world)
    async with world.platform.transaction(PLATFORM, system_actor("test")) as tx:
        await service.allocation_ended(tx, world.allocations[2], "it was lost")
        tx.audited = True
    assert await rotation(world, instance_id) is not None


async def test_a_removal_that_was_forced_is_followed_by_a_rotation(world: AppSite) -> None:
    instance_id = await sharing(world)
    operation_id = await remove(world, instance_id, (await nodes(world, instance_id))[0])
    await world.controller.does(operation_id, "claim")
    await world.controller.does(operation_id, "fail", failure=FAILURE)
    assert await rotation(world, instance_id) is None, "it has not left"
    await world.admin.post(f"{world.path}/operations/{operation_id}/force", {"reason": "it burnt down"})
    assert await rotation(world, instance_id) is not None


async def test_a_project_that_is_served_no_more_is_one_that_left(world: AppSite) -> None:
    instance_id = await sharing(world, tenant_scope=True)
    other = await world.admin.post(f"/tenants/{world.tenant_id}/projects", {"slug": "other", "name": "Other"})
    place = f"{world.path}/instances/{instance_id}/served-projects/{other['id']}"
    served = await world.admin.call("PUT", place, {})
    await world.controller.carry_out(served.json()["operation"]["id"])
    assert await rotation(world, instance_id) is None, "who comes knows nothing yet"
    left = await world.admin.call("DELETE", place)
    await world.controller.carry_out(left.json()["operation"]["id"])
    assert await rotation(world, instance_id) is not None


async def test_an_app_without_shared_secrets_is_asked_for_nothing(world: AppSite) -> None:
    instance_id, operation_id = await world.created("plain", nodes=3)
    await world.controller.carry_out(operation_id)
    await world.controller.carry_out(await remove(world, instance_id, (await nodes(world, instance_id))[0]))
    await world.settle()
    assert (await world.instance(instance_id))["operation_id"] is None


async def test_a_rotation_is_due_on_revoked_bytes_too(world: AppSite) -> None:
    """It brings no bytes to any host, and what is flagged must still shut out who has left."""
    instance_id = await sharing(world)
    await world.controller.carry_out(await remove(world, instance_id, (await nodes(world, instance_id))[0]))
    await world.settle()
    asked = await rotation(world, instance_id)
    assert asked is not None
    await world.revoke((await world.instance(instance_id))["digest"])
    assert (await world.operation(asked["id"]))["status"] == "pending"
