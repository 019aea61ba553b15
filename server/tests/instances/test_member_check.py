"""Members that the app needs do not leave: `min` and `depends_on` hold on drain, remove and replace, unless forced."""

import httpx

from tests_support.agents import Json
from tests_support.apps import AppSite


async def _of(world: AppSite, instance_id: str, component: str) -> list[Json]:
    return [member for member in await world.members(instance_id) if member["component_key"] == component]


def _refused(answer: httpx.Response) -> tuple[object, ...]:
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (409, "members_required"), answer.text
    return problem["details"]["components"], [one["code"] for one in problem["details"]["refusals"]]


async def test_the_last_members_that_a_component_needs_are_neither_drained_nor_removed(world: AppSite) -> None:
    instance_id = await world.running()
    nodes = [one["id"] for one in await _of(world, instance_id, "node")]
    for kind in ("drain", "remove"):
        answer = await world.change_members(instance_id, kind, targets=nodes)
        assert _refused(answer) == (["node"], ["component_count_low"])
        assert "node would keep 0" in answer.json()["detail"]
    assert await world.controller.work() == []
    first = await world.change_members(instance_id, "drain", targets=nodes[:1])
    assert first.status_code == 201
    second = await world.change_members(instance_id, "remove", targets=nodes[1:])  # the first is about to go
    assert _refused(second) == (["node"], ["component_count_low"])


async def test_what_others_depend_on_stays_while_they_are_there(world: AppSite) -> None:
    instance_id = await world.running()
    head = [one["id"] for one in await _of(world, instance_id, "head")]
    for kind in ("drain", "remove"):
        answer = await world.change_members(instance_id, kind, targets=head)
        assert _refused(answer) == (["head", "node"], ["component_count_low", "dependency_missing"])


async def test_a_failed_member_counts_when_it_is_removed(world: AppSite) -> None:
    instance_id = await world.running(nodes=1)
    (node,) = await _of(world, instance_id, "node")
    await _report(world, instance_id, node["id"], "failed")
    assert _refused(await world.change_members(instance_id, "remove", targets=[node["id"]]))[0] == ["node"]
    move = [{"member_id": node["id"], "allocation_id": world.allocations[2]}]
    assert (await world.change_members(instance_id, "replace", replacements=move)).status_code == 201


async def test_several_are_replaced_one_by_one_and_not_all_at_once(world: AppSite) -> None:
    instance_id = await world.running()
    nodes = await _of(world, instance_id, "node")
    moves = [
        {"member_id": node["id"], "allocation_id": place}
        for node, place in zip(nodes, world.allocations[2:4], strict=True)
    ]
    assert _refused(await world.change_members(instance_id, "replace", replacements=moves))[0] == ["node"]
    answer = await world.change_members(instance_id, "replace", replacements=moves, on_failure="stop")
    assert answer.status_code == 201, answer.text


async def test_the_only_member_of_a_component_is_replaced(world: AppSite) -> None:
    instance_id = await world.running()
    (head,) = await _of(world, instance_id, "head")
    move = [{"member_id": head["id"], "allocation_id": world.allocations[3]}]
    assert (await world.change_members(instance_id, "replace", replacements=move)).status_code == 201


async def test_force_overrides_with_a_reason_and_the_audit_trail_says_what(world: AppSite) -> None:
    instance_id = await world.running()
    (head,) = [one["id"] for one in await _of(world, instance_id, "head")]
    without = await world.change_members(instance_id, "drain", targets=[head], force=True)
    assert (without.status_code, without.json()["code"]) == (422, "reason_required")
    answer = await world.change_members(instance_id, "drain", targets=[head], force=True, reason="moving house")
    assert answer.status_code == 201, answer.text
    trail = await world.admin.get(f"/tenants/{world.tenant_id}/audit?action=member_operation_create")
    row = trail["items"][0]
    assert (row["reason"], [one["component_key"] for one in row["details"]["forced"]]) == (
        "moving house",
        ["head", "node"],
    )


async def test_force_is_for_members_that_leave(world: AppSite) -> None:
    instance_id = await world.running()
    places = [world.allocations[2]]
    answer = await world.change_members(
        instance_id, "add", component_key="node", allocation_ids=places, force=True, reason="moving house"
    )
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


async def _report(world: AppSite, instance_id: str, member_id: str, status: str) -> None:
    generation = (await world.instance(instance_id))["generation"]
    body = {"generation": generation, "status": "degraded", "members": [{"member_id": member_id, "status": status}]}
    answer = await world.controller.person.call("PUT", f"{world.path}/instances/{instance_id}/health", body)
    assert answer.status_code == 200, answer.text
