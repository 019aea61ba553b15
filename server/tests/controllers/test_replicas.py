"""Controllers heartbeat. A launch that nobody would carry out is refused, or queued if the caller says so."""

from datetime import timedelta

from tests_support.served import Served

REFUSE = {"when_no_controller": "refuse"}


async def _status(served: Served) -> tuple[str, list[str]]:
    found = await served.tenant.admin.get(f"{served.tenant.path}/catalog/echo")
    (listed,) = (await served.tenant.admin.get(f"{served.tenant.path}/catalog"))["items"]
    assert listed["controller"] == found["controller"]
    assert "controller_consent_give" in found["allowed_actions"] or found["controller"]["own"]
    return found["controller"]["state"], [one for one in found["allowed_actions"] if one == "instance_create"]


async def _refusal(served: Served) -> str:
    answer = await served.tenant.create(nodes=1, **REFUSE)
    assert (answer.status_code, answer.json()["code"]) == (409, "no_controller"), answer.text
    details = answer.json()["details"]
    assert details["next_step"]
    return str(details["state"])


async def test_a_launch_needs_a_consent_and_a_live_controller(served: Served) -> None:
    await served.beat()
    assert await _refusal(served) == "no_consent"
    assert await _status(served) == ("no_consent", [])
    await served.consent()
    assert await _status(served) == ("live", ["instance_create"])
    assert (await served.tenant.create(nodes=1, **REFUSE)).status_code == 201


async def test_a_controller_that_fell_silent_serves_nobody_until_it_comes_back(served: Served) -> None:
    await served.consent()
    assert await _refusal(served) == "silent"  # it never came
    first = await served.beat()
    served.publisher.clock.ahead += timedelta(seconds=61)
    assert await _refusal(served) == "silent"
    assert await _status(served) == ("silent", [])
    again = await served.beat()
    assert again["since"] > first["since"]
    assert await _status(served) == ("live", ["instance_create"])
    await served.beat(stopping=True)
    assert (await _status(served))[0] == "silent"


async def test_since_stays_while_it_beats(served: Served) -> None:
    first = await served.beat()
    served.publisher.clock.ahead += timedelta(seconds=first["next_in_seconds"])
    assert (await served.beat())["since"] == first["since"]
    (shown,) = (await served.publisher.admin.get(f"{served.publisher.path}/controller-replicas"))["items"]
    assert (shown["replica"], shown["version"], shown["live"]) == ("replica-1", "0.1.0", True)


async def test_a_launch_may_be_queued_until_a_controller_is_there(served: Served) -> None:
    _, operation_id = await served.tenant.created(nodes=1, when_no_controller="queue")
    assert await served.work() == []
    await served.consent()
    assert [one["id"] for one in await served.work()] == [operation_id]


async def test_a_projects_own_controller_needs_no_consent_and_a_poll_is_a_sign_of_life(served: Served) -> None:
    """The way of before: a service account of the project itself, whose controller may not know heartbeats."""
    own = await served.tenant.another_controller()
    assert await _refusal(served) == "no_consent"
    await own.work()
    assert await _status(served) == ("live", ["instance_create"])
    _, operation_id = await served.tenant.created(nodes=1, **REFUSE)
    assert [one["id"] for one in await own.work()] == [operation_id]
    await own.carry_out(operation_id)


async def test_a_controller_of_another_project_does_not_make_an_app_launchable(served: Served) -> None:
    stranger = await served.stranger.another_controller()
    await stranger.work()
    await served.consent()
    assert await _refusal(served) == "silent"


async def test_a_heartbeat_is_for_apps_that_the_account_is_bound_to(served: Served) -> None:
    path = f"{served.publisher.path}/controller/heartbeat"
    answer = await served.controller.person.call("PUT", path, {"app": "another", "replica": "r"})
    assert (answer.status_code, answer.json()["code"]) == (403, "not_the_controller")


async def test_an_offer_says_what_the_controller_may_do_and_what_was_agreed(served: Served) -> None:
    await served.beat()
    path = f"/tenants/{served.tenant.tenant_id}/controller-offers?app=echo"
    (offer,) = (await served.tenant.admin.get(path))["items"]
    assert (offer["slug"], offer["live"], offer["consent"]) == ("echo", True, None)
    names = [one["name"] for one in offer["permissions"]]
    assert names[:2] == ["operations", "machine_access"]
    given = await served.consent(project_ids=[served.tenant.project_id])
    assert given["permissions"] == names
    (offer,) = (await served.tenant.admin.get(path))["items"]
    assert offer["consent"]["project_ids"] == [served.tenant.project_id]
    withdrawn = await served.withdraw(offer["consent"])
    assert (withdrawn["withdrawn_reason"], withdrawn["allowed_actions"]) == ("enough", [])
    (offer,) = (await served.tenant.admin.get(path))["items"]
    assert offer["consent"] is None


async def test_a_consent_names_projects_of_its_own_tenant(served: Served) -> None:
    path = f"/tenants/{served.tenant.tenant_id}/controller-consents"
    body = {"app": "echo", "project_ids": [served.stranger.project_id]}
    assert (await served.tenant.admin.call("POST", path, body)).status_code == 404
