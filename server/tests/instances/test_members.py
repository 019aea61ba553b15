"""Members: add, drain, remove, replace, recover, one or many, and what is left of those that went."""

import asyncio

import pytest

from tests_support.agents import Json
from tests_support.apps import AppSite

FAILURE = {"code": "no_route", "message": "The host cannot reach the head.", "retryable": True}


async def _nodes(world: AppSite, instance_id: str) -> list[Json]:
    return [member for member in await world.members(instance_id) if member["component_key"] == "node"]


async def _add(world: AppSite, instance_id: str, *places: int, **more: object) -> str:
    ids = [world.allocations[n] for n in places]
    answer = await world.change_members(instance_id, "add", component_key="node", allocation_ids=ids, **more)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def test_a_member_joins_a_running_instance(world: AppSite) -> None:
    instance_id = await world.running()
    operation_id = await _add(world, instance_id, 2)
    (newcomer,) = [one for one in await world.members(instance_id) if one["status"] == "pending"]
    assert newcomer["operation_id"] == operation_id
    claimed = await world.controller.does(operation_id, "claim")
    assert [one["id"] for one in claimed["members"] if one["concerned"]] == [newcomer["id"]]
    assert (await world.instance(instance_id))["health"] == "healthy"  # the others serve meanwhile
    detail = {"unit": "active"}
    report = [{"member_id": newcomer["id"], "status": "ready", "adapter_detail": detail}]
    await world.controller.does(operation_id, "complete", members=report)
    path = f"{world.path}/instances/{instance_id}/members/{newcomer['id']}"
    member = await world.admin.get(path)
    assert (member["status"], member["adapter_detail"], member["operation_id"]) == ("ready", detail, None)
    assert member["allowed_actions"] == ["drain", "remove", "replace"]
    intent = (await world.instance(instance_id))["placement_intent"]
    assert {"component_key": "node", "allocation_id": world.allocations[2]} in intent


async def test_a_member_that_failed_to_join_can_be_recovered_or_removed(world: AppSite) -> None:
    instance_id = await world.running()
    operation_id = await _add(world, instance_id, 2)
    await world.controller.does(operation_id, "claim")
    await world.controller.does(operation_id, "fail", failure=FAILURE)
    (failed,) = [one for one in await world.members(instance_id) if one["status"] == "failed"]
    assert (failed["failure"]["code"], failed["last_operation_id"]) == ("no_route", operation_id)
    assert {"recover", "remove"} <= set(failed["allowed_actions"])
    instance = await world.instance(instance_id)
    assert (instance["status"], instance["health"]) == ("running", "degraded")
    assert instance["health_reasons"][0]["member_id"] == failed["id"]
    recovering = await world.change_members(instance_id, "recover", targets=[failed["id"]])
    await world.controller.does(recovering.json()["id"], "claim")
    await world.controller.does(recovering.json()["id"], "fail", failure=FAILURE)
    removing = await world.change_members(instance_id, "remove", targets=[failed["id"]])
    await world.controller.carry_out(removing.json()["id"])
    await world.settle()
    assert failed["id"] not in [one["id"] for one in await world.members(instance_id)]
    (tombstone,) = [one for one in await world.members(instance_id, removed=True) if one["id"] == failed["id"]]
    assert (tombstone["status"], tombstone["verified"]) == ("removed", True)
    assert tombstone["removed_at"] is not None
    assert (await world.instance(instance_id))["health"] == "healthy"
    await world.controller.carry_out(await _add(world, instance_id, 2))  # the place is free again


async def test_drain_then_remove_and_the_intent_follows(world: AppSite) -> None:
    instance_id = await world.running()
    target = (await _nodes(world, instance_id))[1]
    draining = (await world.change_members(instance_id, "drain", targets=[target["id"]])).json()["id"]
    await world.controller.carry_out(draining)
    assert (await _nodes(world, instance_id))[1]["status"] == "drained"
    removing = (await world.change_members(instance_id, "remove", targets=[target["id"]])).json()["id"]
    await world.controller.carry_out(removing)
    assert (await world.operation(removing))["phase"] == "verifying"
    await world.settle()
    assert (await world.operation(removing))["status"] == "succeeded"
    assert len(await _nodes(world, instance_id)) == 1
    intent = (await world.instance(instance_id))["placement_intent"]
    assert {"component_key": "node", "allocation_id": target["allocation_id"]} not in intent
    for name in ("member.drained", "member.removed"):
        assert name in await world.timeline(instance_id)


async def test_a_member_is_replaced_by_one_on_another_allocation(world: AppSite) -> None:
    instance_id = await world.running()
    leaving = (await _nodes(world, instance_id))[1]
    pair = {"member_id": leaving["id"], "allocation_id": world.allocations[3]}
    answer = await world.change_members(instance_id, "replace", replacements=[pair])
    operation = answer.json()
    await world.controller.carry_out(operation["id"])
    await world.settle()
    assert (await world.operation(operation["id"]))["status"] == "succeeded"
    nodes = await _nodes(world, instance_id)
    assert [(one["status"], one["allocation_id"]) for one in nodes] == [
        ("ready", world.allocations[0]),
        ("ready", world.allocations[3]),
    ]
    assert nodes[1]["id"] == operation["new_member_id"]


async def test_many_are_one_bulk_operation_that_counts_its_children(world: AppSite) -> None:
    instance_id = await world.running(nodes=1)
    bulk = await _add(world, instance_id, 1, 2, 3)
    assert (await world.operation(bulk))["children"] == {"pending": 3}
    work = await world.controller.work()
    assert len(work) == 3
    for number, item in enumerate(work):
        await world.controller.does(item["id"], "claim")
        assert (await world.operation(bulk))["status"] == "running"
        if number == 1:
            await world.controller.does(item["id"], "fail", failure=FAILURE)
        else:
            await world.controller.does(item["id"], "complete")
    ended = await world.operation(bulk)
    assert (ended["status"], ended["children"]) == ("failed", {"failed": 1, "succeeded": 2})
    assert ended["failure"]["code"] == "member_operations_failed"
    children = await world.admin.get(f"{world.path}/operations?parent_id={bulk}")
    assert len(children["items"]) == 3
    assert (await world.instance(instance_id))["member_counts"] == {"failed": 1, "ready": 4}


async def test_a_bulk_that_stops_at_the_first_failure_begins_one_after_the_other(world: AppSite) -> None:
    instance_id = await world.running(nodes=1)
    bulk = await _add(world, instance_id, 1, 2, 3, on_failure="stop")
    (first,) = await world.controller.work()
    await world.controller.carry_out(first["id"])
    (second,) = await world.controller.work()
    await world.controller.does(second["id"], "claim")
    await world.controller.does(second["id"], "fail", failure=FAILURE)
    assert await world.controller.work() == []
    ended = await world.operation(bulk)
    assert (ended["status"], ended["children"]) == ("failed", {"cancelled": 1, "failed": 1, "succeeded": 1})
    # What was never begun left nothing behind: its place is free, and nothing is to be cleaned there.
    assert (await world.instance(instance_id))["member_counts"] == {"failed": 1, "ready": 3}
    await world.controller.carry_out(await _add(world, instance_id, 3))


async def test_a_cancelled_bulk_ends_its_pending_children(world: AppSite) -> None:
    instance_id = await world.running(nodes=1)
    bulk = await _add(world, instance_id, 1, 2)
    await world.admin.post(f"{world.path}/operations/{bulk}/cancel", {})
    ended = await world.operation(bulk)
    assert (ended["status"], ended["children"]) == ("cancelled", {"cancelled": 2})
    assert (await world.instance(instance_id))["member_counts"] == {"ready": 2}


async def test_operations_on_different_members_run_side_by_side_but_not_on_one(world: AppSite) -> None:
    instance_id = await world.running(nodes=3)
    one, other, _ = await _nodes(world, instance_id)
    first = (await world.change_members(instance_id, "drain", targets=[one["id"]])).json()["id"]
    second = await world.change_members(instance_id, "drain", targets=[other["id"]])
    assert second.status_code == 201
    again = await world.change_members(instance_id, "remove", targets=[one["id"]])
    assert (again.json()["code"], again.json()["details"]["operation_id"]) == ("operation_in_progress", first)
    whole = await world.ask(instance_id, "stop")
    assert whole.json()["code"] == "operation_in_progress"


async def test_of_many_that_ask_at_once_one_is_heard(world: AppSite) -> None:
    instance_id = await world.running()
    target = (await _nodes(world, instance_id))[0]["id"]
    asked = [world.change_members(instance_id, "drain", targets=[target]) for _ in range(6)]
    asked += [world.ask(instance_id, "restart") for _ in range(2)]
    answers = await asyncio.gather(*asked)
    assert sorted(answer.status_code for answer in answers)[:1] != [409]
    assert sum(answer.status_code in (200, 201) for answer in answers) == 1
    assert {a.json()["code"] for a in answers if a.status_code == 409} == {"operation_in_progress"}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"kind": "add", "targets": ["mem_00000000000000000000000000"]}, 422),
        ({"kind": "drain"}, 422),
        ({"kind": "drain", "targets": []}, 422),
        ({"kind": "remove", "targets": ["mem_00000000000000000000000000"]}, 404),
        ({"kind": "recover", "component_key": "node", "allocation_ids": ["alc_00000000000000000000000000"]}, 422),
    ],
)
async def test_a_member_operation_of_the_wrong_shape_is_refused(world: AppSite, body: Json, status: int) -> None:
    instance_id = await world.running()
    answer = await world.ask(instance_id, "member-operations", **body)
    assert answer.status_code == status, answer.text


async def test_a_member_can_only_be_recovered_when_something_is_wrong_with_it(world: AppSite) -> None:
    instance_id = await world.running()
    target = (await _nodes(world, instance_id))[0]["id"]
    answer = await world.change_members(instance_id, "recover", targets=[target])
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
