"""Members with probes are ready when their hosts say so, and unhealthy when a probe fails later."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import Platform
from tests_support import apps
from tests_support.agents import Json
from tests_support.probed import ProbedSite

ANSWERS = {"key": "answers", "component": "node", "kind": "http", "port": 7007, "path": "/healthz"}
BOTH = {**ANSWERS, "purpose": ["readiness", "liveness"], "start_period_seconds": 10, "interval_seconds": 5}
OTHER_DIGEST = "sha256:" + "b" * 64


@pytest.fixture
async def world(platform: Platform) -> AsyncIterator[ProbedSite]:
    async with apps.opened(platform) as opened:
        site = ProbedSite.of(opened)
        await site.publish(version="1.3.0", probes=[BOTH])
        yield site


def statuses(members: list[Json]) -> dict[str, str]:
    return {f"{one['component_key']}/{one['ordinal']}": one["status"] for one in members}


async def test_an_instance_runs_only_once_its_hosts_say_that_the_members_are_ready(world: ProbedSite) -> None:
    instance_id, operation_id = await world.created()
    ready = [{"member_id": one["id"], "status": "ready"} for one in await world.members(instance_id)]
    first, second = (await world.completed(operation_id, members=ready)).values()
    waiting = await world.operation(operation_id)
    assert (waiting["status"], waiting["phase"]) == ("running", "probing")
    assert statuses(await world.members(instance_id)) == {"head/0": "ready", "node/1": "joining", "node/2": "joining"}
    assert (await world.instance(instance_id))["status"] == "starting"
    assert (
        first["spec"]["probes"][0] | {"path": "/healthz", "interval_seconds": 5, "timeout_seconds": 3}
        == (first["spec"]["probes"][0])
    )
    await world.say(first, "passing")
    assert (await world.operation(operation_id))["status"] == "running"
    await world.say(second, "pending", "connection refused")
    (member,) = [one for one in await world.members(instance_id) if one["id"] == second["resource_id"]]
    assert (member["probes"][0]["status"], member["probes"][0]["answer"]) == ("pending", "connection refused")
    await world.say(second, "passing")
    assert (await world.operation(operation_id))["status"] == "succeeded"
    assert set(statuses(await world.members(instance_id)).values()) == {"ready"}
    instance = await world.instance(instance_id)
    assert (instance["status"], instance["health"]) == ("running", "healthy")
    assert "instance.start_completed" in await world.timeline(instance_id)


async def test_a_member_that_never_passes_is_named_with_its_probe_and_last_answer(world: ProbedSite) -> None:
    instance_id, operation_id = await world.created()
    first, second = (await world.completed(operation_id)).values()
    await world.say(first, "passing")
    await world.say(second, "failing", "HTTP 503\x1b[31m")
    ended = await world.operation(operation_id)
    assert (ended["status"], ended["failure"]["code"]) == ("failed", "readiness_timeout")
    for word in (second["resource_id"], "answers", "HTTP 503?[31m"):
        assert word in ended["failure"]["message"]
    assert "logs" in ended["failure"]["next_step"]
    assert statuses(await world.members(instance_id)) == {"head/0": "ready", "node/1": "ready", "node/2": "failed"}
    instance = await world.instance(instance_id)
    assert (instance["status"], instance["failure"]["code"]) == ("failed", "readiness_timeout")
    (ending,) = (await world.probe_tasks()).values()
    assert (ending["resource_id"], ending["spec"]["probes"]) == (second["resource_id"], [])
    again = await world.asked(instance_id, "deploy")
    for task in (await world.completed(again)).values():
        await world.say(task, "passing")
    assert (await world.instance(instance_id))["status"] == "running"


async def test_a_host_that_is_cut_off_ends_the_wait_at_the_deadline(world: ProbedSite) -> None:
    _, operation_id = await world.created(nodes=1)
    await world.controller.carry_out(operation_id)
    world.clock.ahead += timedelta(seconds=10 + 3 * 8 + 29)
    await world.settle(answering=False)
    assert (await world.operation(operation_id))["status"] == "running"
    world.clock.ahead += timedelta(minutes=10)
    await world.settle(answering=False)
    ended = await world.operation(operation_id)
    assert (ended["status"], ended["failure"]["code"]) == ("failed", "readiness_timeout")
    assert "the host has not answered" in ended["failure"]["message"]


async def test_an_agent_that_does_not_know_probes_ends_the_wait_at_once(world: ProbedSite) -> None:
    _, operation_id = await world.created(nodes=1)
    await world.controller.carry_out(operation_id)
    (task,) = [one for one in await world.host.poll() if one["kind"] == "probe"]
    told = {"code": "task_kind_unknown", "message": "?", "next_step": "", "retryable": False}
    await world.host.report(task, "failed", failure=told)
    await world.settle(answering=False)
    ended = await world.operation(operation_id)
    assert (ended["status"], ended["failure"]["code"]) == ("failed", "probe_not_run")
    assert "agent is too old" in ended["failure"]["message"]


async def test_a_probe_that_fails_later_makes_the_member_unhealthy_until_it_passes(world: ProbedSite) -> None:
    instance_id, tasks = await world.probed()
    task = next(iter(tasks.values()))
    await world.say(task, "failing", "timed out")
    instance = await world.instance(instance_id)
    assert (instance["status"], instance["health"]) == ("running", "degraded")
    (reason,) = [one for one in instance["health_reasons"] if one["code"] == "probe_failing"]
    assert (reason["member_id"], "timed out" in reason["message"]) == (task["resource_id"], True)
    (member,) = [one for one in await world.members(instance_id) if one["id"] == task["resource_id"]]
    assert (member["status"], member["health"]) == ("ready", "unhealthy")
    assert member["health_reasons"][0]["code"] == "probe_failing"
    for other in list(tasks.values())[1:]:
        await world.say(other, "failing")
    assert (await world.instance(instance_id))["health"] == "unhealthy", "no node is there that works"
    for one in tasks.values():
        await world.say(one, "passing")
    instance = await world.instance(instance_id)
    assert (instance["health"], instance["health_reasons"]) == ("healthy", [])


async def test_a_controller_learns_at_its_claim_which_members_do_not_pass_their_probes(world: ProbedSite) -> None:
    instance_id, tasks = await world.probed()
    failing = next(iter(tasks.values()))
    await world.say(failing, "failing", "timed out")
    claimed = await world.controller.does(await world.asked(instance_id, "reconcile"), "claim")
    found = {one["id"]: (one["status"], one["health"]) for one in claimed["members"]}
    assert found.pop(failing["resource_id"]) == ("ready", "unhealthy")
    assert set(found.values()) == {("ready", "healthy")}


async def test_a_member_in_an_operation_is_not_judged_by_its_probe(world: ProbedSite) -> None:
    instance_id, tasks = await world.probed()
    task = next(iter(tasks.values()))
    restart = await world.asked(instance_id, "restart")
    await world.controller.does(restart, "claim")
    await world.say(task, "failing", "connection refused")
    instance = await world.instance(instance_id)
    assert "probe_failing" not in {one["code"] for one in instance["health_reasons"]}
    await world.controller.does(restart, "complete")
    fresh = await world.probe_tasks()
    late = await world.say(task, "failing", "of before the restart")
    assert late["ended"] == [], "the newer task tells the host what to run"
    for one in fresh.values():
        await world.say(one, "passing")
    instance = await world.instance(instance_id)
    assert (instance["status"], instance["health"]) == ("running", "healthy")


async def test_a_failed_members_own_reason_stands_over_its_probe(world: ProbedSite) -> None:
    instance_id, tasks = await world.probed()
    task = next(iter(tasks.values()))
    generation = (await world.instance(instance_id))["generation"]
    failing = {"member_id": task["resource_id"], "status": "failed", "message": "The disk is full."}
    path = f"{world.path}/instances/{instance_id}/health"
    body = {"status": "degraded", "generation": generation, "members": [failing]}
    assert (await world.controller.person.call("PUT", path, body)).status_code == 200
    await world.say(task, "failing", "connection refused")
    (member,) = [one for one in await world.members(instance_id) if one["id"] == task["resource_id"]]
    assert (member["failure"]["message"], member["health_reasons"]) == ("The disk is full.", [])


async def test_the_word_of_the_controller_does_not_mend_what_a_probe_found(world: ProbedSite) -> None:
    instance_id, operation_id = await world.created(nodes=1)
    (task,) = (await world.completed(operation_id)).values()
    await world.say(task, "failing", "HTTP 500")
    generation = (await world.instance(instance_id))["generation"]
    path = f"{world.path}/instances/{instance_id}/health"
    ready = {"member_id": task["resource_id"], "status": "ready"}
    body = {"status": "healthy", "generation": generation, "members": [ready]}
    assert (await world.controller.person.call("PUT", path, body)).status_code == 200
    assert statuses(await world.members(instance_id))["node/1"] == "failed"


async def test_a_stopped_member_is_not_probed_any_more(world: ProbedSite) -> None:
    instance_id, tasks = await world.probed()
    await world.controller.carry_out(await world.asked(instance_id, "stop"))
    await world.settle()
    assert (await world.instance(instance_id))["status"] == "stopped"
    told = await world.say(next(iter(tasks.values())), "failing")
    assert told["ended"] == [next(iter(tasks))]
    assert all(one["probes"] == [] for one in await world.members(instance_id))
    starting = await world.asked(instance_id, "start")
    fresh = await world.completed(starting)
    assert {one["generation"] for one in fresh.values()} == {3}
    for task in fresh.values():
        await world.say(task, "passing")
    assert (await world.operation(starting))["status"] == "succeeded"


async def test_a_new_member_joins_when_its_probe_passes(world: ProbedSite) -> None:
    instance_id, _ = await world.probed()
    asked = await world.change_members(instance_id, "add", component_key="node", allocation_ids=[world.allocations[2]])
    adding = asked.json()["id"]
    (task,) = (await world.completed(adding)).values()
    assert (await world.instance(instance_id))["member_counts"] == {"joining": 1, "ready": 3}
    await world.say(task, "passing")
    assert (await world.operation(adding))["status"] == "succeeded"
    assert (await world.instance(instance_id))["member_counts"] == {"ready": 4}


async def test_an_upgrade_that_is_not_ready_can_be_rolled_back(world: ProbedSite) -> None:
    instance_id, _ = await world.probed()
    slow = {**BOTH, "key": "answers", "path": "/slow"}
    await world.publish(version="2.0.0", probes=[slow], artifact={"kind": "controller", "digest": OTHER_DIGEST})
    upgrade = await world.asked(instance_id, "upgrade", version="2.0.0")
    first, second = (await world.completed(upgrade)).values()
    assert first["spec"]["probes"][0]["path"] == "/slow"
    await world.say(first, "failing", "HTTP 500")
    assert (await world.operation(upgrade))["failure"]["code"] == "readiness_timeout"
    assert (await world.instance(instance_id))["version"] == "1.3.0"
    rollback = await world.asked(instance_id, "rollback")
    ready = [{"member_id": one["id"], "status": "ready"} for one in await world.members(instance_id)]
    back = await world.completed(rollback, members=ready)
    assert set(back) == {first["resource_id"], second["resource_id"]}
    for task in back.values():
        assert task["spec"]["probes"][0]["path"] == "/healthz"
        await world.say(task, "passing")
    instance = await world.instance(instance_id)
    assert (instance["status"], instance["health"], instance["version"]) == ("running", "healthy", "1.3.0")


async def test_a_wait_for_readiness_can_be_cancelled(world: ProbedSite) -> None:
    instance_id, operation_id = await world.created(nodes=1)
    await world.completed(operation_id)
    waiting = await world.operation(operation_id)
    assert "operation_cancel" in waiting["allowed_actions"]
    cancelled = await world.admin.post(f"{world.path}/operations/{operation_id}/cancel", {})
    assert (cancelled["status"], cancelled["failure"]["code"]) == ("cancelled", "cancelled")
    assert (await world.instance(instance_id))["status"] == "failed"


async def test_a_host_says_nothing_about_members_elsewhere(world: ProbedSite) -> None:
    instance_id, tasks = await world.probed()
    stranger = await world.site.host("host-2")
    stranger.clock = world.clock
    task = next(iter(tasks.values()))
    state = {"key": "answers", "status": "failing", "since": utc_now().isoformat(), "answer": "no"}
    member = {"member_id": task["resource_id"], "generation": task["generation"], "probes": [state]}
    answer = await stranger.call("POST", "/probes", {"members": [member]})
    assert answer.json()["ended"] == [task["resource_id"]]
    await world.settle(answering=False)
    assert (await world.instance(instance_id))["health"] == "healthy"
    denied = (await world.admin.get("/audit?action=agent_probe_report"))["items"]
    assert [(row["resource_id"], row["details"]["why"]) for row in denied] == [(stranger.node_id, "forbidden")]
    await world.say(task, "passing")
    assert len((await world.admin.get("/audit?action=agent_probe_report"))["items"]) == 1, "its own agent is not"


async def test_a_report_beyond_its_bounds_is_refused(world: ProbedSite) -> None:
    _, tasks = await world.probed()
    task = next(iter(tasks.values()))
    state = {"key": "answers", "status": "failing", "since": utc_now().isoformat(), "answer": "x" * 201}
    member = {"member_id": task["resource_id"], "generation": task["generation"], "probes": [state]}
    assert (await world.host.call("POST", "/probes", {"members": [member]})).status_code == 422
    many = [{**state, "answer": "", "key": f"k{n}"} for n in range(9)]
    assert (await world.host.call("POST", "/probes", {"members": [{**member, "probes": many}]})).status_code == 422
    strange = {**state, "answer": "", "key": "unheard-of"}
    told = await world.host.call("POST", "/probes", {"members": [{**member, "probes": [strange]}]})
    assert told.status_code == 200, "a key that was not asked for is not kept"


async def test_an_app_without_a_purpose_runs_as_soon_as_its_controller_is_done(world: ProbedSite) -> None:
    await world.publish(version="1.4.0", probes=[ANSWERS])
    instance_id, operation_id = await world.created()
    assert await world.completed(operation_id) == {}
    assert (await world.instance(instance_id))["status"] == "running"
    assert all(one["probes"] == [] for one in await world.members(instance_id))
