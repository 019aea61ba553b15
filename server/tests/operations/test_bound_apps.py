"""A controller is a service account that is bound to apps, and hears only of those."""

import asyncio

from tests_support.apps import AppSite


async def test_apps_control_needs_an_app(world: AppSite) -> None:
    body = {"name": "aimless", "scopes": ["apps:control"]}
    answer = await world.admin.call("POST", f"{world.path}/service-accounts", body)
    assert (answer.status_code, answer.json()["code"]) == (422, "controller_needs_apps")
    account = f"{world.path}/service-accounts/{world.controller.account_id}"
    answer = await world.admin.call("PATCH", account, {"app_slugs": []})
    assert answer.status_code == 422


async def test_an_app_that_is_taken_away_is_heard_of_no_more(world: AppSite) -> None:
    _, operation_id = await world.created()
    assert [item["id"] for item in await world.controller.work()] == [operation_id]
    account = f"{world.path}/service-accounts/{world.controller.account_id}"
    changed = await world.admin.call("PATCH", account, {"app_slugs": ["another"]})
    assert changed.json()["app_slugs"] == ["another"]
    await asyncio.sleep(0.1)  # the gate hears of it by a wake-up
    assert await world.controller.work() == []
    answer = await world.controller.send(operation_id, "claim")
    assert answer.json()["code"] == "not_the_controller"


async def test_a_controller_sees_nothing_of_the_apps_that_it_is_not_bound_to(world: AppSite) -> None:
    instance_id = await world.running()
    stop_id = await world.asked(instance_id, "stop")
    await world.controller.carry_out(stop_id)
    await world.settle()
    member_id = (await world.members(instance_id))[0]["id"]
    receipt_id = (await world.admin.get(f"{world.path}/receipts"))["items"][0]["id"]
    one = f"instances/{instance_id}"
    things = [one, f"{one}/timeline", f"{one}/members", f"{one}/members/{member_id}"]
    things += [f"operations/{stop_id}", f"receipts/{receipt_id}"]
    stranger = await world.another_controller(apps=("another",))
    for thing in things:
        assert (await world.controller.person.call("GET", f"{world.path}/{thing}")).status_code == 200, thing
        refused = await stranger.person.call("GET", f"{world.path}/{thing}")
        assert (refused.status_code, refused.json()["code"]) == (404, "not_found"), thing
    for things_of in ("instances", f"operations?instance_id={instance_id}", f"receipts?instance_id={instance_id}"):
        assert (await world.controller.person.get(f"{world.path}/{things_of}"))["items"], things_of
        assert (await stranger.person.get(f"{world.path}/{things_of}"))["items"] == [], things_of
    asking = f"{world.path}/instances?app=echo"
    assert (await stranger.person.get(asking))["items"] == [], "naming another app does not help"


async def test_an_account_that_also_operates_apps_sees_all_of_the_project(world: AppSite) -> None:
    instance_id = await world.running()
    both = await world.another_controller(apps=("another",))
    account = f"{world.path}/service-accounts/{both.account_id}"
    await world.admin.call("PATCH", account, {"scopes": ["apps:control", "apps:operate"]})
    await asyncio.sleep(0.1)  # the gate hears of it by a wake-up
    assert (await both.person.get(f"{world.path}/instances/{instance_id}"))["id"] == instance_id
