"""The verbs on a whole instance, each to its end, with the proof after a teardown."""

from datetime import timedelta

import pytest

from tests_support.apps import AppSite

FAILURE = {"code": "it_broke", "message": "It broke."}


async def test_stopped_means_that_the_hosts_were_looked_at(world: AppSite) -> None:
    instance_id = await world.running()
    operation_id = await world.asked(instance_id, "stop", reason="weekend")
    assert (await world.instance(instance_id))["status"] == "stopping"
    said = await world.controller.carry_out(operation_id)
    assert (said["status"], said["phase"]) == ("running", "verifying")
    await world.settle()
    assert (await world.operation(operation_id))["status"] == "succeeded"
    instance = await world.instance(instance_id)
    assert (instance["status"], instance["health"], instance["member_counts"]) == ("stopped", "unknown", {"drained": 3})
    assert {member["verified"] for member in await world.members(instance_id)} == {True}
    await world.controller.carry_out(await world.asked(instance_id, "start"))
    assert (await world.instance(instance_id))["health"] == "healthy"


async def test_a_controller_that_lies_about_a_teardown_is_found_out(world: AppSite) -> None:
    instance_id = await world.running()
    operation_id = await world.asked(instance_id, "stop")
    await world.controller.carry_out(operation_id)
    world.left = ["echo.service"]
    await world.settle()
    ended = await world.operation(operation_id)
    assert (ended["status"], ended["failure"]["code"]) == ("failed", "teardown_incomplete")
    assert "echo.service" in ended["failure"]["message"]
    instance = await world.instance(instance_id)
    assert instance["status"] == "failed"
    assert {"instance_stop", "instance_decommission"} <= set(instance["allowed_actions"])
    assert "operation_force" in ended["allowed_actions"]
    world.left = []
    await world.controller.carry_out(await world.asked(instance_id, "stop"))
    await world.settle()
    assert (await world.instance(instance_id))["status"] == "stopped"


async def test_force_accepts_an_unproven_teardown_and_says_so_for_ever(world: AppSite) -> None:
    instance_id = await world.running()
    operation_id = await world.asked(instance_id, "decommission")
    await world.controller.carry_out(operation_id)
    world.left = ["echo.service"]
    await world.settle()
    path = f"{world.path}/operations/{operation_id}/force"
    assert (await world.admin.call("POST", path, {})).status_code == 422
    forced = await world.admin.post(path, {"reason": "the host is to be wiped anyway"})
    assert (forced["status"], forced["forced"]["verified"]) == ("failed", False)
    instance = await world.instance(instance_id)
    assert (instance["status"], instance["allowed_actions"]) == ("stopped", [])
    assert instance["decommissioned_at"] is not None
    gone = await world.members(instance_id, removed=True)
    assert {(member["status"], member["verified"]) for member in gone} == {("removed", False)}
    again = await world.admin.call("POST", path, {"reason": "once more"})
    assert again.status_code == 409
    trail = await world.admin.get(f"/audit?action=operation_force&resource_id={operation_id}")
    assert trail["items"][0]["reason"] == "the host is to be wiped anyway"


async def test_a_decommissioned_instance_leaves_its_name_and_its_history(world: AppSite) -> None:
    instance_id = await world.running()
    await world.controller.carry_out(await world.asked(instance_id, "decommission"))
    await world.settle()
    assert await world.members(instance_id) == []
    assert len(await world.members(instance_id, removed=True)) == 3
    assert "instance.decommissioned" in await world.timeline(instance_id)
    assert (await world.ask(instance_id, "start")).status_code == 409
    await world.running("first")


async def test_a_decommissioned_instance_shows_no_access(world: AppSite) -> None:
    instance_id, deploy = await world.created()
    access = {"commands": {"talk": "nc 10.0.0.7 7007"}}
    await world.controller.carry_out(deploy, access_bundle=access)
    assert (await world.instance(instance_id))["access_bundle"] == access
    await world.controller.carry_out(await world.asked(instance_id, "decommission"))
    await world.settle()
    gone = await world.instance(instance_id)
    assert (gone["status"], gone["access_bundle"]) == ("stopped", None)


async def test_restart_reconcile_and_repair_end_in_running(world: AppSite) -> None:
    instance_id = await world.running()
    for verb in ("restart", "reconcile", "repair"):
        operation_id = await world.asked(instance_id, verb)
        await world.controller.does(operation_id, "claim")
        during = await world.instance(instance_id)
        assert during["health"] == "progressing", verb
        await world.controller.does(operation_id, "complete")
        after = await world.instance(instance_id)
        assert (after["status"], after["health"]) == ("running", "healthy"), verb


async def test_a_failed_restart_is_failed_and_repair_brings_it_back(world: AppSite) -> None:
    instance_id = await world.running()
    operation_id = await world.asked(instance_id, "restart")
    await world.controller.does(operation_id, "claim")
    await world.controller.does(operation_id, "fail", failure=FAILURE)
    broken = await world.instance(instance_id)
    assert (broken["status"], broken["health"], broken["failure"]["code"]) == ("failed", "unhealthy", "it_broke")
    repaired = await world.controller.does(await world.asked(instance_id, "repair"), "claim")
    members = [{"member_id": one["id"], "status": "ready"} for one in repaired["members"]]
    await world.controller.does(repaired["operation"]["id"], "complete", members=members)
    after = await world.instance(instance_id)
    assert (after["status"], after["health"], after["failure"]) == ("running", "healthy", None)


async def test_an_upgrade_keeps_both_versions_until_it_has_succeeded(world: AppSite) -> None:
    instance_id = await world.running()
    await world.publish(version="1.3.0", runtime_version="25.04")
    operation_id = await world.asked(instance_id, "upgrade", version="1.3.0")
    claimed = await world.controller.does(operation_id, "claim")
    assert (claimed["instance"]["version"]["version"], claimed["target_version"]["version"]) == ("1.2.0", "1.3.0")
    assert (await world.instance(instance_id))["version"] == "1.2.0"
    await world.controller.does(operation_id, "complete")
    after = await world.instance(instance_id)
    assert (after["version"], after["runtime_version"], after["declared_runtime_version"]) == (
        "1.3.0",
        "25.04",
        "25.04",
    )
    assert after["previous_version"]["version"] == "1.2.0"
    back = await world.asked(instance_id, "rollback")
    await world.controller.carry_out(back)
    after = await world.instance(instance_id)
    assert (after["version"], after["previous_version"]["version"]) == ("1.2.0", "1.3.0")


async def test_an_upgrade_that_breaks_off_leaves_the_version_and_a_way_back(world: AppSite) -> None:
    instance_id = await world.running()
    assert "instance_rollback" not in (await world.instance(instance_id))["allowed_actions"]
    await world.publish(version="1.3.0")
    operation_id = await world.asked(instance_id, "upgrade", version="1.3.0")
    await world.controller.does(operation_id, "claim")
    await world.controller.does(operation_id, "fail", failure=FAILURE)
    after = await world.instance(instance_id)
    assert (after["status"], after["health"], after["version"]) == ("running", "degraded", "1.2.0")
    assert after["attempted_version"]["version"] == "1.3.0"
    assert "version_change_failed" in [reason["code"] for reason in after["health_reasons"]]
    claimed = await world.controller.does(await world.asked(instance_id, "rollback"), "claim")
    assert claimed["target_version"]["version"] == "1.2.0"
    await world.controller.does(claimed["operation"]["id"], "complete")
    after = await world.instance(instance_id)
    assert (after["version"], after["attempted_version"], after["health"]) == ("1.2.0", None, "healthy")


async def test_a_second_operation_is_refused_with_the_id_of_the_first(world: AppSite) -> None:
    instance_id = await world.running()
    first = await world.asked(instance_id, "restart")
    for answer in (
        await world.ask(instance_id, "stop"),
        await world.change_members(instance_id, "drain", targets=[(await world.members(instance_id))[1]["id"]]),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "operation_in_progress")
        assert answer.json()["details"]["operation_id"] == first


async def test_a_pending_operation_is_cancelled_at_once_and_changes_nothing(world: AppSite) -> None:
    instance_id = await world.running()
    operation_id = await world.asked(instance_id, "stop")
    cancelled = await world.admin.post(f"{world.path}/operations/{operation_id}/cancel", {"reason": "not today"})
    assert (cancelled["status"], cancelled["allowed_actions"]) == ("cancelled", [])
    assert "not today" in cancelled["failure"]["message"]
    after = await world.instance(instance_id)
    assert (after["status"], after["health"], after["operation_id"]) == ("running", "healthy", None)
    assert after["failure"] is None, "what nobody began is no failure of what runs"
    told = await world.timeline(instance_id)
    assert (told.count("instance.start_completed"), told.count("instance.running")) == (1, 1), "it started once"


@pytest.mark.parametrize("verb", ["start", "stop", "restart", "repair", "decommission"])
async def test_a_failed_instance_still_says_why_after_a_verb_that_nobody_began(world: AppSite, verb: str) -> None:
    instance_id = await world.running()
    broken = await world.asked(instance_id, "restart")
    await world.controller.does(broken, "claim")
    await world.controller.does(broken, "fail", failure={"code": "no_way_in", "message": "The host is silent."})
    failed = await world.instance(instance_id)
    operation_id = await world.asked(instance_id, verb)
    await world.admin.post(f"{world.path}/operations/{operation_id}/cancel", {})
    after = await world.instance(instance_id)
    assert (after["status"], after["failure"]) == ("failed", failed["failure"])
    assert [one["code"] for one in after["health_reasons"]] == [one["code"] for one in failed["health_reasons"]]
    assert (await world.operation(operation_id))["failure"]["code"] == "cancelled", "that is said of the operation"


async def test_a_first_deploy_that_failed_still_says_why_after_another_that_nobody_began(world: AppSite) -> None:
    instance_id, operation_id = await world.created()
    await world.controller.does(operation_id, "claim")
    await world.controller.does(operation_id, "fail", failure={"code": "no_way_in", "message": "The host is silent."})
    again = await world.asked(instance_id, "deploy")
    on_its_way = await world.instance(instance_id)
    assert (on_its_way["status"], on_its_way["failure"]) == ("starting", None)
    await world.admin.post(f"{world.path}/operations/{again}/cancel", {})
    after = await world.instance(instance_id)
    assert (after["status"], after["failure"]["code"]) == ("failed", "no_way_in")
    await world.controller.carry_out(await world.asked(instance_id, "deploy"))
    done = await world.instance(instance_id)
    assert (done["status"], done["failure"]) == ("running", None)


async def test_a_claimed_operation_is_cancelled_by_its_controller(world: AppSite) -> None:
    instance_id = await world.running()
    operation_id = await world.asked(instance_id, "restart")
    await world.controller.does(operation_id, "claim")
    asked = await world.admin.post(f"{world.path}/operations/{operation_id}/cancel", {})
    assert asked["status"] == "claimed"
    renewed = await world.controller.does(operation_id, "report")
    assert renewed["cancel_requested"] is True
    ended = await world.controller.does(operation_id, "fail", failure=FAILURE)
    assert ended["status"] == "cancelled"
    assert (await world.instance(instance_id))["status"] == "failed"  # it was begun: nothing is certain any more


async def test_a_cancelled_operation_whose_controller_is_silent_ends_with_its_lease(world: AppSite) -> None:
    instance_id = await world.running()
    operation_id = await world.asked(instance_id, "reconcile")
    await world.controller.does(operation_id, "claim")
    await world.admin.post(f"{world.path}/operations/{operation_id}/cancel", {})
    world.clock.ahead += timedelta(minutes=2)
    await world.settle()
    assert (await world.operation(operation_id))["status"] == "cancelled"
    assert (await world.instance(instance_id))["status"] == "running"


async def test_a_stuck_operation_can_be_ended_by_force(world: AppSite) -> None:
    instance_id = await world.running()
    operation_id = await world.asked(instance_id, "stop")
    await world.controller.does(operation_id, "claim")
    path = f"{world.path}/operations/{operation_id}/force"
    forced = await world.admin.post(path, {"reason": "the controller hangs"})
    assert (forced["status"], forced["failure"]["code"]) == ("failed", "operation_forced")
    instance = await world.instance(instance_id)
    assert (instance["status"], instance["member_counts"]) == ("stopped", {"drained": 3})
    assert {member["verified"] for member in await world.members(instance_id)} == {False}
    answer = await world.controller.send(operation_id, "complete")
    assert answer.json()["code"] == "lease_lost"
