"""A host that is lost or reported as broken is named by the health of its members and instances, until it is well again."""

from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.nodes.machine import FleetPulse, LivenessVerdict
from gpuaas_server.nodes.reconciler import NodeLivenessReconciler
from tests_support.agents import Json
from tests_support.apps import AppSite


async def judge_host(world: AppSite, verdict: LivenessVerdict) -> None:
    async with world.platform.transaction(PLATFORM, system_actor("test")) as tx:
        await NodeLivenessReconciler(world.platform).apply(tx, FleetPulse((), None), verdict)
    await world.settle(answering=False)


async def lose_host(world: AppSite) -> None:
    await judge_host(world, LivenessVerdict(lost=(world.host.node_id,)))


async def bring_host_back(world: AppSite) -> None:
    await judge_host(world, LivenessVerdict(back=(world.host.node_id,)))


def codes(reasons: list[Json]) -> set[str]:
    return {str(reason["code"]) for reason in reasons}


async def test_a_lost_host_is_named_by_instance_and_members_without_a_word_of_the_controller(world: AppSite) -> None:
    instance_id = await world.running()
    before = await world.instance(instance_id)
    await lose_host(world)
    instance, members = await world.instance(instance_id), await world.members(instance_id)
    assert instance["health"] == "unhealthy", "what needs members has none that can be reached"
    told = [one for one in instance["health_reasons"] if one["code"] == "host_lost"]
    named = {member_id for one in told for member_id in one["member_ids"] or [one["member_id"]]}
    assert named == {member["id"] for member in members}
    assert all("replace the member" in one["next_step"] for one in told)
    for member in members:
        assert (member["status"], member["health"]) == ("ready", "unhealthy")
        [reason] = member["health_reasons"]
        assert (reason["code"], "does not respond" in reason["message"]) == ("host_lost", True)
        assert reason["since"] is not None
    assert "instance.unhealthy" in await world.timeline(instance_id)
    await bring_host_back(world)
    after = await world.instance(instance_id)
    assert (after["health"], after["health_reasons"]) == (before["health"], before["health_reasons"])
    assert all((one["health"], one["health_reasons"]) == ("healthy", []) for one in await world.members(instance_id))


async def test_a_report_that_all_is_well_does_not_hide_a_lost_host(world: AppSite) -> None:
    instance_id = await world.running()
    await lose_host(world)
    generation = (await world.instance(instance_id))["generation"]
    path = f"{world.path}/instances/{instance_id}/health"
    answer = await world.controller.person.call("PUT", path, {"status": "healthy", "generation": generation})
    assert answer.status_code == 200, answer.text
    assert answer.json()["health"] == "unhealthy"
    assert "host_lost" in codes(answer.json()["health_reasons"])
    await bring_host_back(world)
    assert (await world.instance(instance_id))["health"] == "healthy"


async def test_a_host_that_was_reported_as_broken_degrades_the_member_on_that_allocation(world: AppSite) -> None:
    instance_id = await world.running()
    allocation_id = (await world.members(instance_id))[-1]["allocation_id"]
    path = f"{world.path}/allocations/{allocation_id}/host-reports"
    report = await world.admin.post(path, {"reason": "two GPUs fell off the bus"})
    await world.settle(answering=False)
    instance = await world.instance(instance_id)
    assert instance["health"] == "degraded"
    there = {one["id"] for one in await world.members(instance_id) if one["allocation_id"] == allocation_id}
    told = [one["member_id"] for one in instance["health_reasons"] if one["code"] == "reported_broken"]
    assert set(told) == there
    health = {one["id"]: one["health"] for one in await world.members(instance_id)}
    assert {health.pop(member_id) for member_id in there} == {"degraded"}
    assert set(health.values()) == {"healthy"}
    await world.admin.post(f"/host-reports/{report['id']}/clear", {"reason": "looked at"})
    await world.settle(answering=False)
    assert "reported_broken" not in codes((await world.instance(instance_id))["health_reasons"])
