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
