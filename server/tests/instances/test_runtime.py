"""The runtime of an instance while an operation works on it: stored early, and not put back by who has an older one."""

from tests_support.apps import AppSite

FAILURE = {"code": "it_broke", "message": "It broke."}


async def test_what_has_changed_since_the_claim_stays_where_the_controller_says_so(world: AppSite) -> None:
    instance_id = await world.running()
    before = await world.instance(instance_id)
    operation_id = await world.asked(instance_id, "restart")
    await world.controller.does(operation_id, "claim")
    path = f"{world.path}/instances/{instance_id}/health"
    moved = {"generation": (await world.instance(instance_id))["generation"], "runtime": {"position": 2, "tone": "low"}}
    assert before["runtime"] is None or "position" not in before["runtime"]
    assert (await world.controller.person.call("PUT", path, moved)).status_code == 200
    told = {"version": "1", "position": 1, "gone": 1}
    await world.controller.does(operation_id, "complete", runtime=told, runtime_kept=["position", "gone"])
    assert (await world.instance(instance_id))["runtime"] == {"version": "1", "position": 2}


async def test_a_runtime_that_was_reported_early_stays_when_the_operation_fails(world: AppSite) -> None:
    instance_id = await world.running()
    runtime = (await world.instance(instance_id))["runtime"] or {}
    operation_id = await world.asked(instance_id, "stop")
    await world.controller.does(operation_id, "claim")
    kept = {**runtime, "position": 1}
    generation = (await world.instance(instance_id))["generation"]
    await world.controller.does(operation_id, "report", runtime=kept, expected_runtime=runtime)
    late = {"runtime": {"position": 2}, "expected_runtime": runtime}
    refused = await world.controller.send(operation_id, "report", late)
    assert (refused.status_code, refused.json()["code"]) == (409, "stale_generation")
    large = await world.controller.send(operation_id, "report", {"runtime": {"note": "x" * 70_000}})
    assert large.json()["code"] == "document_too_large"
    assert (await world.instance(instance_id))["generation"] == generation
    await world.controller.does(operation_id, "fail", failure=FAILURE)
    assert (await world.instance(instance_id))["runtime"] == kept


async def test_a_replica_that_has_lost_its_lease_stores_no_runtime(world: AppSite) -> None:
    instance_id = await world.running()
    operation_id = await world.asked(instance_id, "stop")
    await world.controller.does(operation_id, "claim")
    await world.controller.does(operation_id, "give-back")
    await world.second_replica().does(operation_id, "claim")
    before = (await world.instance(instance_id))["runtime"]
    refused = await world.controller.send(operation_id, "report", {"runtime": {"position": 1}})
    assert refused.json()["code"] == "lease_lost"
    assert (await world.instance(instance_id))["runtime"] == before
