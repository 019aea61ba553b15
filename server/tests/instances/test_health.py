"""Health as the controller reports it: against a generation, by the right one, and not believed for ever."""

from datetime import timedelta

from gpuaas_server.instances import service
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import new_id
from tests_support.agents import Json
from tests_support.apps import AppSite, Controller
from tests_support.select import select


async def _report(world: AppSite, instance_id: str, by: Controller | None = None, **body: object) -> Json:
    generation = (await world.instance(instance_id))["generation"]
    path = f"{world.path}/instances/{instance_id}/health"
    document = {"status": "healthy", "generation": generation, **body}
    answer = await (by or world.controller).person.call("PUT", path, document)
    found: Json = answer.json()
    return found


async def test_a_report_changes_health_with_its_reasons(world: AppSite) -> None:
    instance_id = await world.running()
    reasons = [{"code": "queue_long", "message": "The queue is long."}]
    told = await _report(world, instance_id, status="degraded", reasons=reasons)
    assert (told["health"], told["health_reasons"][0]["code"]) == ("degraded", "queue_long")
    instance = await world.instance(instance_id)
    assert (instance["health"], instance["generation"]) == ("degraded", told["generation"])
    assert "instance.degraded" in await world.timeline(instance_id)
    await _report(world, instance_id)
    assert (await world.instance(instance_id))["health"] == "healthy"


async def test_a_report_about_an_earlier_generation_is_refused(world: AppSite) -> None:
    instance_id = await world.running()
    generation = (await world.instance(instance_id))["generation"]
    await world.asked(instance_id, "stop")
    told = await _report(world, instance_id, generation=generation)
    assert told["code"] == "stale_generation"


async def test_a_report_by_another_apps_controller_is_refused(world: AppSite) -> None:
    instance_id = await world.running()
    stranger = await world.another_controller(apps=("other-app",))
    assert (await _report(world, instance_id, by=stranger))["code"] == "not_the_controller"


async def test_members_are_reported_as_long_as_no_operation_works_on_them(world: AppSite) -> None:
    instance_id = await world.running()
    members = await world.members(instance_id)
    failing = {"member_id": members[2]["id"], "status": "failed", "message": "The process died."}
    told = await _report(world, instance_id, members=[failing])
    assert told["health"] == "degraded"
    (failed,) = [one for one in await world.members(instance_id) if one["status"] == "failed"]
    assert failed["failure"]["message"] == "The process died."
    recovering = await world.change_members(instance_id, "recover", targets=[failed["id"]])
    await world.controller.does(recovering.json()["id"], "claim")
    await _report(world, instance_id, members=[failing])
    (joining,) = [one for one in await world.members(instance_id) if one["id"] == failed["id"]]
    assert joining["status"] == "joining"  # the operation decides what it is
    huge = failing | {"adapter_detail": {"log": "x" * 20_000}}
    assert (await _report(world, instance_id, members=[huge]))["code"] == "document_too_large"


async def test_a_controller_that_falls_silent_is_not_believed_for_ever(world: AppSite) -> None:
    instance_id = await world.running()
    await _report(world, instance_id)
    world.clock.ahead += timedelta(minutes=11)
    await world.settle()
    instance = await world.instance(instance_id)
    assert (instance["health"], instance["health_reasons"][0]["code"]) == ("unknown", "health_not_reported")
    await _report(world, instance_id)
    assert (await world.instance(instance_id))["health"] == "healthy"


async def test_a_revoked_artifact_flags_what_runs_from_it_until_it_is_upgraded(world: AppSite) -> None:
    instance_id = await world.running()
    digest = (await world.instance(instance_id))["digest"]
    async with world.platform.transaction(PLATFORM, system_actor("test")) as tx:
        assert await service.live_on_digest(tx.connection, digest) == 1
        tx.audited = True
    await world.revoke(digest)
    instance = await world.instance(instance_id)
    assert (instance["status"], instance["health"]) == ("running", "degraded")
    assert instance["flags"][0]["code"] == "artifact_revoked"
    more = [world.allocations[2]]
    refused = await world.change_members(instance_id, "add", component_key="node", allocation_ids=more)
    assert (refused.status_code, refused.json()["code"]) == (409, "artifact_revoked"), "no further host gets it"
    other = {"kind": "controller", "digest": "sha256:" + "b" * 64}
    await world.publish(version="1.4.0", artifact=other)
    await world.controller.carry_out(await world.asked(instance_id, "upgrade", version="1.4.0"))
    after = await world.instance(instance_id)
    assert (after["health"], after["digest"]) == ("healthy", other["digest"])
    assert [flag["code"] for flag in after["flags"]] == ["previous_version_refused"], (
        "it runs trusted bytes, and says where it cannot return to"
    )


async def test_what_is_stopped_on_revoked_bytes_gets_out_as_the_flag_says(world: AppSite) -> None:
    instance_id = await world.running()
    await world.controller.carry_out(await world.asked(instance_id, "stop"))
    await world.revoke((await world.instance(instance_id))["digest"])
    stopped = await world.instance(instance_id)
    assert (stopped["status"], "instance_upgrade" in stopped["allowed_actions"]) == ("stopped", False)
    assert "start it first" in stopped["flags"][0]["message"]
    await world.controller.carry_out(await world.asked(instance_id, "start"))
    await world.publish(version="1.4.0", artifact={"kind": "controller", "digest": "sha256:" + "b" * 64})
    await world.controller.carry_out(await world.asked(instance_id, "upgrade", version="1.4.0"))
    flags = (await world.instance(instance_id))["flags"]
    assert [flag["code"] for flag in flags] == ["previous_version_refused"], "no word of what it runs now"


async def test_a_first_deploy_is_not_tried_again_with_bytes_that_were_revoked_meanwhile(world: AppSite) -> None:
    instance_id, operation_id = await world.created()
    await world.admin.post(f"{world.path}/operations/{operation_id}/cancel", {})
    await world.revoke((await world.instance(instance_id))["digest"])
    refused = await world.ask(instance_id, "deploy")
    assert (refused.status_code, refused.json()["code"]) == (409, "artifact_revoked")
    await world.asked(instance_id, "decommission")  # the way out


async def test_another_project_that_revokes_its_copy_of_the_same_bytes_flags_nobody_else(world: AppSite) -> None:
    instance_id = await world.running()
    digest = (await world.instance(instance_id))["digest"]
    async with world.platform.transaction(PLATFORM, system_actor("test")) as tx:
        await service.artifact_flagged(tx, digest, new_id("prj"))
    await world.settle()
    assert (await world.instance(instance_id))["flags"] == []


async def test_who_reports_again_after_a_silence_is_watched_again(world: AppSite) -> None:
    instance_id = await world.running()
    await _report(world, instance_id)
    assert await _watched(world) == 1
    world.clock.ahead += timedelta(minutes=11)
    await world.settle()
    assert (await world.instance(instance_id))["health"] == "unknown"
    assert await _watched(world) == 0  # nobody looks again and again at what is silent
    await _report(world, instance_id)
    assert await _watched(world) == 1


async def _watched(world: AppSite) -> int:
    async with world.platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT count(*) AS n FROM work_items WHERE kind = 'instance_health'")
        row = await cursor.fetchone()
    return int(row["n"]) if row else 0


async def test_a_report_leaves_a_failed_member_its_reason(world: AppSite) -> None:
    instance_id = await world.running()
    adding = await world.change_members(instance_id, "add", component_key="node", allocation_ids=[world.allocations[2]])
    await world.controller.does(adding.json()["id"], "claim")
    failure = {"code": "no_route", "message": "The host cannot reach the head."}
    await world.controller.does(adding.json()["id"], "fail", failure=failure)
    (broken,) = [one for one in await world.members(instance_id) if one["status"] == "failed"]
    for status in ("failed", "degraded"):
        told = {"member_id": broken["id"], "status": status, "message": "No answer."}
        await _report(world, instance_id, status="degraded", members=[told])
        (after,) = [one for one in await world.members(instance_id) if one["id"] == broken["id"]]
        assert (after["status"], after["failure"]["code"]) == ("failed", "no_route"), status


async def test_the_first_reason_that_was_reported_stays_until_the_member_is_well(world: AppSite) -> None:
    instance_id = await world.running()
    member_id = (await world.members(instance_id))[2]["id"]
    for message in ("The process died.", "No answer."):
        told = {"member_id": member_id, "status": "failed", "message": message}
        await _report(world, instance_id, status="degraded", members=[told])
    assert (await world.members(instance_id))[2]["failure"]["message"] == "The process died."
    await _report(world, instance_id, members=[{"member_id": member_id, "status": "ready"}])
    assert (await world.members(instance_id))[2]["status"] == "ready"


async def test_a_report_does_not_judge_a_member_in_an_operation_and_ends_with_it(world: AppSite) -> None:
    instance_id = await world.running(nodes=3)
    member_id = (await world.members(instance_id))[3]["id"]
    reasons = [{"code": "node_silent", "message": "It does not answer.", "member_id": member_id}]
    told = await _report(world, instance_id, status="degraded", reasons=reasons)
    assert [one["code"] for one in told["health_reasons"]] == ["node_silent"]
    draining = await world.asked(instance_id, "member-operations", kind="drain", targets=[member_id])
    meanwhile = await world.instance(instance_id)
    assert (meanwhile["health"], meanwhile["health_reasons"]) == ("healthy", [])
    await world.controller.carry_out(draining)
    assert (await world.instance(instance_id))["health_reasons"] == [], "the report is older than the operation"


async def test_a_report_about_the_whole_ends_with_an_operation_on_it_and_silence_is_still_noticed(
    world: AppSite,
) -> None:
    instance_id = await world.running()
    await _report(world, instance_id, status="degraded", reasons=[{"code": "slow", "message": "It is slow."}])
    await world.controller.carry_out(await world.asked(instance_id, "restart"))
    assert (await world.instance(instance_id))["health"] == "healthy"
    world.clock.ahead += timedelta(minutes=11)
    await world.settle()
    assert (await world.instance(instance_id))["health_reasons"][0]["code"] == "health_not_reported"


async def test_the_version_that_runs_is_shown_and_another_one_than_the_declared_is_a_reason(world: AppSite) -> None:
    instance_id = await world.running()
    before = await world.instance(instance_id)
    assert (before["runtime_version"], before["declared_runtime_version"]) == ("24.10", "24.10")
    told = await _report(world, instance_id, runtime={"runtime_version": "23.02", "cluster": "one"})
    assert (told["health"], told["health_reasons"][0]["code"]) == ("degraded", "runtime_version_mismatch")
    shown = await world.instance(instance_id)
    assert (shown["runtime_version"], shown["declared_runtime_version"]) == ("23.02", "24.10")
    assert shown["health_reasons"][0]["message"].startswith(
        "The running app is 23.02, and version 1.2.0 declares 24.10."
    )
    [listed] = (await world.admin.get(f"{world.path}/instances"))["items"]
    assert listed["runtime_version"] == "23.02"
    mended = await _report(world, instance_id, runtime={"runtime_version": "24.10"})
    assert (mended["health"], mended["health_reasons"]) == ("healthy", [])
    await _report(world, instance_id, runtime={"runtime_version": {"not": "text"}})
    assert (await world.instance(instance_id))["runtime_version"] == "24.10"


async def test_an_instance_shows_the_shape_of_its_allocations_and_its_runtime_profile(world: AppSite) -> None:
    instance_id = await world.running()
    shown = await world.instance(instance_id)
    assert (shown["bound_capacity_shape"], shown["runtime_profile"]) == ("gpu_slice", None)
    [listed] = (await world.admin.get(f"{world.path}/instances"))["items"]
    assert listed["bound_capacity_shape"] == "gpu_slice"
    await world.controller.carry_out(await world.asked(instance_id, "decommission"))
    await world.settle()
    assert (await world.instance(instance_id))["bound_capacity_shape"] is None
