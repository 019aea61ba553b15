"""Operators look for what is stuck, without knowing in whose project."""

from tests_support.apps import AppSite


async def test_operators_find_operations_of_any_project_by_status_with_their_ways_out(world: AppSite) -> None:
    instance_id = await world.running()
    operation_id = await world.asked(instance_id, "stop")
    pending = (await world.admin.get("/operations?status=pending"))["items"]
    assert [(one["id"], one["project_id"]) for one in pending] == [(operation_id, world.project_id)]
    assert "operation_cancel" in pending[0]["allowed_actions"]
    assert {one["status"] for one in (await world.admin.get("/operations"))["items"]} == {"pending", "succeeded"}


async def test_operators_page_through_receipts_of_all_projects(world: AppSite) -> None:
    instance_id = await world.running()
    await world.controller.carry_out(await world.asked(instance_id, "decommission"))
    await world.settle()
    expected = {one["id"] for one in (await world.admin.get(f"{world.path}/receipts"))["items"]}
    assert expected
    first = await world.admin.get("/receipts?limit=1&status=clean")
    rest = await world.admin.get(f"/receipts?status=clean&after={first['next_cursor']}")
    assert {one["id"] for one in [*first["items"], *rest["items"]]} == expected
    assert (await world.admin.get("/receipts?status=left"))["items"] == []


async def test_a_list_can_be_asked_for_what_lives_on_one_allocation(world: AppSite) -> None:
    instance_id = await world.running(nodes=1)
    for allocation, found in ((world.allocations[0], [instance_id]), (world.allocations[-1], [])):
        listed = await world.admin.get(f"{world.path}/instances?allocation_id={allocation}")
        assert [one["id"] for one in listed["items"]] == found
