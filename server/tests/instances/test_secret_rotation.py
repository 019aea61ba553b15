"""Secrets that members share are made anew when somebody who knew them has left: asked for by the platform itself."""

from typing import Any

import pytest

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


async def left_by_one(world: AppSite) -> tuple[str, str]:
    """A running instance that a member has left, and the rotation that nobody has begun."""
    instance_id = await sharing(world)
    await world.controller.carry_out(await remove(world, instance_id, (await nodes(world, instance_id))[0]))
    await world.settle()
    asked = await rotation(world, instance_id)
    assert asked is not None
    return instance_id, asked["id"]


@pytest.mark.parametrize("requested", ["drain", "restart", "serve"])
async def test_a_requested_operation_goes_before_a_rotation_that_has_not_begun(world: AppSite, requested: str) -> None:
    instance_id, first = await left_by_one(world)
    if requested == "serve":
        await world.publish(version="1.6.0", shared_secrets=True, tenant_scope=True)
        await world.controller.carry_out(await world.asked(instance_id, "upgrade", version="1.6.0"))
        other = await world.admin.post(f"/tenants/{world.tenant_id}/projects", {"slug": "other", "name": "Other"})
        place = f"{world.path}/instances/{instance_id}/served-projects/{other['id']}"
        operation_id = (await world.admin.call("PUT", place, {})).json()["operation"]["id"]
    elif requested == "drain":
        staying = (await nodes(world, instance_id))[:1]
        operation_id = await world.asked(instance_id, "member-operations", kind="drain", targets=staying)
    else:
        operation_id = await world.asked(instance_id, requested)
    set_aside = await world.operation(first)
    assert (set_aside["status"], set_aside["failure"]["code"]) == ("cancelled", "cancelled")
    await world.controller.carry_out(operation_id)
    again = await rotation(world, instance_id)
    assert again is not None
    assert again["id"] != first
    await world.controller.carry_out(again["id"])
    assert await reasons(world, instance_id) == []


async def test_a_rotation_that_has_not_begun_closes_no_action(world: AppSite) -> None:
    instance_id, first = await left_by_one(world)
    offered = (await world.instance(instance_id))["allowed_actions"]
    assert {"instance_restart", "instance_decommission", "member_operation_create"} <= set(offered)
    (listed,) = (await world.admin.get(f"{world.path}/instances"))["items"]
    assert set(listed["allowed_actions"]) <= set(offered)
    assert "instance_decommission" in listed["allowed_actions"]
    assert all(
        "drain" in one["allowed_actions"] for one in await world.members(instance_id) if one["component_key"] == "node"
    )
    await world.controller.does(first, "claim")
    assert set((await world.instance(instance_id))["allowed_actions"]) == {"instance_update", "log_read"}
    assert all(one["allowed_actions"] == [] for one in await world.members(instance_id))


async def test_nothing_is_made_anew_for_an_instance_that_goes(world: AppSite) -> None:
    instance_id, first = await left_by_one(world)
    await world.controller.carry_out(await world.asked(instance_id, "decommission"))
    await world.settle()
    assert (await world.operation(first))["status"] == "cancelled"
    shown = await world.instance(instance_id)
    assert (shown["decommissioned_at"] is not None, shown["operation_id"]) == (True, None)


async def test_a_rotation_that_is_under_way_is_named_to_who_is_refused(world: AppSite) -> None:
    instance_id, first = await left_by_one(world)
    await world.controller.does(first, "claim")
    drain = {"kind": "drain", "targets": await nodes(world, instance_id)}
    requests: list[tuple[str, Json]] = [("decommission", {}), ("member-operations", drain)]
    for verb, body in requests:
        answer = await world.ask(instance_id, verb, **body)
        told = answer.json()
        assert (answer.status_code, told["code"], told["details"]) == (
            409,
            "operation_in_progress",
            {"operation_id": first},
        )
        assert "made anew" in told["detail"]
    assert (await world.operation(first))["status"] == "claimed"


async def test_a_request_that_is_refused_leaves_the_rotation_as_it_was(world: AppSite) -> None:
    instance_id, first = await left_by_one(world)
    refused: list[tuple[str, Json]] = [("rollback", {}), ("upgrade", {"version": "9.9.9"})]
    for verb, body in refused:
        assert (await world.ask(instance_id, verb, **body)).status_code in (404, 409, 422)
    served = f"{world.path}/instances/{instance_id}/served-projects/{world.project_id}"
    assert (await world.admin.call("PUT", served, {})).status_code in (200, 409)  # it serves its own from the start
    assert (await world.operation(first))["status"] == "pending"
    assert (await world.instance(instance_id))["operation_id"] == first


async def test_a_release_does_not_wait_for_a_rotation_that_nobody_has_begun(world: AppSite) -> None:
    instance_id, first = await left_by_one(world)
    place = (await world.members(instance_id))[-1]["allocation_id"]  # of a node, and of nobody else
    await world.admin.post(f"{world.path}/allocations/{place}/release", {})
    assert (await world.operation(first))["status"] == "cancelled"
    [removal] = await world.controller.work()
    asked = await world.operation(removal["id"])
    assert (asked["kind"], asked["parameters"]) == ("remove", {"release_of": [place]})
    await world.controller.carry_out(removal["id"])
    await world.settle()
    assert await rotation(world, instance_id) is not None


async def test_a_lost_member_is_one_departure_when_its_host_goes_and_none_when_it_is_removed(world: AppSite) -> None:
    instance_id = await sharing(world)
    async with world.platform.transaction(PLATFORM, system_actor("test")) as tx:
        await service.allocation_ended(tx, world.allocations[2], "it was lost")
        tx.audited = True
    first = await rotation(world, instance_id)
    assert first is not None
    await world.controller.carry_out(first["id"])
    lost = next(one["id"] for one in await world.members(instance_id) if one["allocation_id"] == world.allocations[2])
    await world.controller.carry_out(await remove(world, instance_id, lost))
    await world.settle()
    assert ((await world.instance(instance_id))["operation_id"], await rotations(world, instance_id)) == (None, 1)


async def test_a_member_that_never_became_ready_may_know_the_secrets_too(world: AppSite) -> None:
    instance_id = await sharing(world)
    request = {"kind": "add", "component_key": "node", "allocation_ids": [world.allocations[3]]}
    operation_id = await world.asked(instance_id, "member-operations", **request)
    await world.controller.does(operation_id, "claim")
    await world.controller.does(operation_id, "fail", failure=FAILURE)
    async with world.platform.transaction(PLATFORM, system_actor("test")) as tx:
        await service.allocation_ended(tx, world.allocations[3], "it was lost")
        tx.audited = True
    assert await rotation(world, instance_id) is not None
