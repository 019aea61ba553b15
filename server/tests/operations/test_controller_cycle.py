"""What a controller does, over HTTP on real PostgreSQL: find work, claim it, report, complete or fail."""

import asyncio
from datetime import datetime, timedelta

import pytest

from tests_support.apps import AppSite


async def test_a_deploy_goes_from_created_to_running_by_the_word_of_its_controller(world: AppSite) -> None:
    instance_id, operation_id = await world.created()
    before = await world.instance(instance_id)
    assert (before["status"], before["health"], before["operation_id"]) == ("created", "unknown", operation_id)
    assert before["member_counts"] == {"pending": 3}
    assert [item["id"] for item in await world.controller.work()] == [operation_id]
    claimed = await world.controller.does(operation_id, "claim")
    assert claimed["operation"]["status"] == "claimed"
    assert claimed["instance"]["inputs"] == {"greeting": "hello"}
    assert claimed["instance"]["version"]["manifest"]["slug"] == "echo"
    assert [member["allocation"]["state"] for member in claimed["members"]] == ["active"] * 3
    assert (await world.instance(instance_id))["status"] == "starting"
    assert await world.controller.work() == []
    step = {"name": "install", "status": "running"}
    renewed = await world.controller.does(operation_id, "report", steps=[step], progress={"percent": 40})
    assert (renewed["status"], renewed["cancel_requested"]) == ("running", False)
    done = {"name": "install", "status": "succeeded"}
    bundle = {"commands": ["echo hello"]}
    ended = await world.controller.does(
        operation_id, "complete", steps=[done], runtime={"version": "24.10.1"}, access_bundle=bundle
    )
    assert (ended["status"], ended["attempt"], ended["progress"]["percent"]) == ("succeeded", 1, 40)
    assert [(one["name"], one["status"]) for one in ended["steps"]] == [("install", "succeeded")]
    after = await world.instance(instance_id)
    assert (after["status"], after["health"], after["member_counts"]) == ("running", "healthy", {"ready": 3})
    assert (after["runtime"], after["access_bundle"]) == ({"version": "24.10.1"}, bundle)
    assert after["operation_id"] is None
    assert "instance_stop" in after["allowed_actions"]
    seen = await world.timeline(instance_id)
    for name in ("instance.created", "operation.claimed", "instance.start_completed", "member.added"):
        assert name in seen


@pytest.mark.usefixtures("only_wakeups")
async def test_an_idle_controller_hears_of_work_at_once(world: AppSite) -> None:
    waiting = asyncio.create_task(world.controller.work(wait=20))
    await asyncio.sleep(0.2)
    _, operation_id = await world.created()
    found = await asyncio.wait_for(waiting, 60)
    assert [item["id"] for item in found] == [operation_id]


async def test_of_two_claimers_one_gets_it(world: AppSite) -> None:
    _, operation_id = await world.created()
    second = world.second_replica()
    answers = await asyncio.gather(*(one.send(operation_id, "claim") for one in (world.controller, second) * 3))
    codes = sorted(answer.status_code for answer in answers)
    # A replica that repeats its own claim resumes it; the other one is always refused.
    winners = {a.json()["operation"]["replica"] for a in answers if a.status_code == 200}
    assert len(winners) == 1
    assert codes == [200, 200, 200, 409, 409, 409]
    assert {a.json()["code"] for a in answers if a.status_code == 409} == {"operation_claimed"}


async def test_a_controller_of_another_app_sees_and_claims_nothing(world: AppSite) -> None:
    _, operation_id = await world.created()
    stranger = await world.another_controller(apps=("other-app",))
    assert await stranger.work() == []
    answer = await stranger.send(operation_id, "claim")
    assert (answer.status_code, answer.json()["code"]) == (403, "not_the_controller")


async def test_a_lease_is_worth_nothing_in_other_hands(world: AppSite) -> None:
    _, operation_id = await world.created()
    await world.controller.does(operation_id, "claim")
    thief = await world.another_controller()
    thief.token = world.controller.token
    for verb, body in (("report", {}), ("complete", {}), ("give-back", {})):
        answer = await thief.send(operation_id, verb, body)
        assert (answer.status_code, answer.json()["code"]) == (403, "not_the_controller")
    world.controller.token = "lease_" + "A" * 43
    answer = await world.controller.send(operation_id, "report")
    assert (answer.status_code, answer.json()["code"]) == (409, "lease_lost")


async def test_people_never_report(world: AppSite) -> None:
    _, operation_id = await world.created()
    answer = await world.admin.call("POST", f"{world.path}/operations/{operation_id}/claim", {"replica": "me"})
    assert answer.status_code == 403


async def test_a_lapsed_lease_is_resumed_by_another_replica(world: AppSite) -> None:
    instance_id, operation_id = await world.created()
    await world.controller.does(operation_id, "claim")
    await world.controller.does(operation_id, "report", steps=[{"name": "install", "status": "succeeded"}])
    world.clock.ahead += timedelta(minutes=2)
    await world.settle()
    waiting = await world.operation(operation_id)
    assert (waiting["status"], waiting["attempt"]) == ("pending", 1)
    second = world.second_replica()
    again = await second.does(operation_id, "claim")
    assert (again["operation"]["attempt"], again["operation"]["steps"][0]["name"]) == (2, "install")
    late = await world.controller.send(operation_id, "complete")
    assert (late.status_code, late.json()["code"]) == (409, "lease_lost")
    await second.does(operation_id, "complete")
    assert (await world.instance(instance_id))["status"] == "running"


async def test_a_replica_that_comes_back_under_its_name_resumes_at_once(world: AppSite) -> None:
    _, operation_id = await world.created()
    await world.controller.does(operation_id, "claim")
    before = world.controller.token
    again = await world.controller.does(operation_id, "claim")
    assert again["operation"]["attempt"] == 2
    assert world.controller.token != before
    after, world.controller.token = world.controller.token, before
    assert (await world.controller.send(operation_id, "report")).json()["code"] == "lease_lost"
    world.controller.token = after
    await world.controller.does(operation_id, "complete")


async def test_work_that_is_given_back_is_offered_again_at_once(world: AppSite) -> None:
    _, operation_id = await world.created()
    await world.controller.does(operation_id, "claim")
    await world.controller.does(operation_id, "give-back")
    second = world.second_replica()
    assert [item["id"] for item in await second.work()] == [operation_id]
    await second.carry_out(operation_id)


async def test_a_lease_that_is_never_renewed_fails_in_the_end(world: AppSite) -> None:
    instance_id, operation_id = await world.created(deadline_seconds=86_400)
    for _ in range(10):
        await world.controller.does(operation_id, "claim")
        world.clock.ahead += timedelta(seconds=61)
        await world.settle()
    ended = await world.operation(operation_id)
    assert (ended["status"], ended["failure"]["code"]) == ("failed", "controller_lost")
    assert (await world.instance(instance_id))["status"] == "failed"


async def test_how_long_and_how_often_is_the_operators_to_say(world: AppSite) -> None:
    wanted = {"operation_lease_seconds": 20, "operation_attempts": 1, "operation_verify_seconds": 120}
    world.platform.settings = world.platform.settings.model_copy(update=wanted)
    instance_id = await world.running()
    operation_id = await world.asked(instance_id, "stop")
    claimed = await world.controller.does(operation_id, "claim")
    renewed = await world.controller.does(operation_id, "report")
    for until in (claimed["lease_until"], renewed["lease_until"]):
        assert 15 < (datetime.fromisoformat(until) - world.clock()).total_seconds() <= 20
    ended = await world.controller.does(operation_id, "complete")
    assert 115 < (datetime.fromisoformat(ended["deadline_at"]) - world.clock()).total_seconds() <= 120
    world.clock.ahead += timedelta(seconds=121)  # the hosts say nothing
    await world.settle(answering=False)
    assert (await world.operation(operation_id))["failure"]["code"] == "teardown_incomplete"
    again = await world.asked(instance_id, "repair")
    await world.controller.does(again, "claim")
    world.clock.ahead += timedelta(seconds=21)
    await world.settle()
    assert (await world.operation(again))["failure"]["code"] == "controller_lost"


async def test_hosts_that_say_nothing_after_a_teardown_are_waited_for_as_long_as_the_page_says(world: AppSite) -> None:
    instance_id = await world.running()
    operation_id = await world.asked(instance_id, "stop")
    await world.controller.carry_out(operation_id)
    await world.settle(answering=False)
    world.clock.ahead += timedelta(seconds=110)
    await world.settle(answering=False)
    assert (await world.operation(operation_id))["phase"] == "verifying"
    world.clock.ahead += timedelta(seconds=11)  # two minutes, and nobody sweeps, nobody asks
    await world.settle(answering=False)
    ended = await world.operation(operation_id)
    assert (ended["status"], ended["failure"]["code"]) == ("failed", "teardown_incomplete")
    assert "host_unreachable" in ended["failure"]["message"]


async def test_past_its_deadline_an_operation_expires_with_a_way_out(world: AppSite) -> None:
    instance_id, operation_id = await world.created(deadline_seconds=60)
    world.clock.ahead += timedelta(minutes=3)
    await world.settle()
    ended = await world.operation(operation_id)
    assert (ended["status"], ended["failure"]["code"]) == ("expired", "deadline_exceeded")
    instance = await world.instance(instance_id)
    assert instance["status"] == "failed"
    assert {"instance_deploy", "instance_decommission"} <= set(instance["allowed_actions"])
    again = await world.asked(instance_id, "deploy")
    await world.controller.carry_out(again)
    assert (await world.instance(instance_id))["status"] == "running"


async def test_details_that_are_too_large_are_refused_with_a_code(world: AppSite) -> None:
    _, operation_id = await world.created()
    claimed = await world.controller.does(operation_id, "claim")
    member = claimed["members"][0]["id"]
    huge = {"log": "x" * 20_000}
    body = {"members": [{"member_id": member, "status": "ready", "adapter_detail": huge}]}
    answer = await world.controller.send(operation_id, "complete", body)
    assert (answer.status_code, answer.json()["code"]) == (413, "document_too_large")
    answer = await world.controller.send(operation_id, "complete", {"runtime": {"x": "y" * 70_000}})
    assert answer.json()["code"] == "document_too_large"
    deep: dict[str, object] = {}
    for _ in range(40):
        deep = {"a": deep}
    for hostile in ({"a": "\x00"}, deep):
        answer = await world.controller.send(operation_id, "complete", {"runtime": hostile})
        assert answer.status_code == 422, answer.text
    await world.controller.does(operation_id, "complete")


async def test_a_failed_deploy_says_why_and_can_be_asked_for_again(world: AppSite) -> None:
    instance_id, operation_id = await world.created()
    claimed = await world.controller.does(operation_id, "claim")
    failed = claimed["members"][2]["id"]
    why = {"code": "image_pull_failed", "message": "The registry answered 503.", "retryable": True}
    members = [{"member_id": failed, "status": "failed", "message": "No image."}]
    ended = await world.controller.does(operation_id, "fail", failure=why, members=members)
    assert (ended["status"], ended["failure"]["code"]) == ("failed", "image_pull_failed")
    instance = await world.instance(instance_id)
    assert (instance["status"], instance["health"]) == ("failed", "unhealthy")
    assert instance["failure"]["code"] == "image_pull_failed"
    assert {member["status"] for member in await world.members(instance_id)} == {"failed"}
    await world.controller.carry_out(await world.asked(instance_id, "deploy"))
    assert (await world.instance(instance_id))["health"] == "healthy"


@pytest.mark.parametrize("verb", ["complete", "fail"])
async def test_a_controllers_documents_are_kept_whatever_json_they_are(world: AppSite, verb: str) -> None:
    """Numbers of more than 64 bits, a member named twice, text that only looks like a NUL."""
    instance_id, operation_id = await world.created(nodes=1)
    controller = world.controller
    await controller.does(operation_id, "claim")
    member = (await world.members(instance_id))[0]["id"]
    odd = {"large": 10**40, "small": -(10**25), "fraction": 1.5, "text": "\\u0000", "\U000e61fb": [None, {"": []}]}
    told = [
        {"member_id": member, "status": "ready", "adapter_detail": None},
        {"member_id": member, "status": "degraded", "adapter_detail": odd},
    ]
    steps = [
        {"name": "00", "status": "running", "member_id": member},
        {"name": "p/q", "status": "failed", "message": "°"},
    ]
    more = {"failure": {"code": "kuh", "message": "\u0118"}} if verb == "fail" else {"runtime": odd}
    answer = await controller.send(operation_id, verb, {"steps": steps, "members": told, **more})
    assert answer.status_code == 200, answer.text
    kept = {one["id"]: one["adapter_detail"] for one in await world.members(instance_id)}
    assert kept[member] == odd
