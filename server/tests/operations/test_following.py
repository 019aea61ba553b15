"""Following an operation over HTTP: a question that is held until there is something newer, and no longer than asked."""

import asyncio
import time

import pytest

from tests_support.agents import Json
from tests_support.apps import AppSite

pytestmark = pytest.mark.usefixtures("only_wakeups")
HANG = 30.0  # seconds, after which nobody waits any more
LONG = 60  # what the server is asked to wait by who must not be made to


async def follow(world: AppSite, operation_id: str, newer_than: int, wait: int = 20) -> Json:
    return await world.admin.get(f"{world.path}/operations/{operation_id}?wait={wait}&newer_than={newer_than}")


async def following(world: AppSite, operation_id: str) -> "asyncio.Task[Json]":
    """Somebody who knows it as it is now, and waits."""
    known = await world.operation(operation_id)
    waiting = asyncio.create_task(follow(world, operation_id, known["generation"]))
    await asyncio.sleep(0.2)
    assert not waiting.done()
    return waiting


async def test_a_step_is_seen_immediately_by_followers(world: AppSite) -> None:
    _, operation_id = await world.created()
    await world.controller.does(operation_id, "claim")
    await world.controller.does(operation_id, "report")
    waiting = await following(world, operation_id)
    await world.controller.does(operation_id, "report", steps=[{"name": "install", "status": "running"}])
    seen = await asyncio.wait_for(waiting, HANG)
    assert [step["name"] for step in seen["steps"]] == ["install"]


@pytest.mark.parametrize("verb", ["claim", "report", "complete", "give-back"])
async def test_every_report_of_a_controller_wakes_followers(world: AppSite, verb: str) -> None:
    _, operation_id = await world.created()
    if verb != "claim":
        await world.controller.does(operation_id, "claim")
    waiting = await following(world, operation_id)
    await world.controller.does(operation_id, verb)
    status = {"claim": "claimed", "report": "running", "complete": "succeeded", "give-back": "pending"}[verb]
    assert (await asyncio.wait_for(waiting, HANG))["status"] == status


async def test_a_request_to_cancel_wakes_followers(world: AppSite) -> None:
    _, operation_id = await world.created()
    await world.controller.does(operation_id, "claim")
    waiting = await following(world, operation_id)
    await world.admin.post(f"{world.path}/operations/{operation_id}/cancel", {})
    assert (await asyncio.wait_for(waiting, HANG))["cancel_requested_at"] is not None


async def test_a_bulk_operation_is_followed_through_its_children(world: AppSite) -> None:
    instance_id = await world.running(nodes=3)
    nodes = [one["id"] for one in await world.members(instance_id) if one["component_key"] == "node"][:2]
    parent = await world.asked(instance_id, "member-operations", kind="drain", targets=nodes)
    waiting = await following(world, parent)
    first = (await world.controller.work())[0]["id"]
    await world.controller.does(first, "claim")
    assert (await asyncio.wait_for(waiting, HANG))["children"] == {"claimed": 1, "pending": 1}


async def test_a_renewed_lease_wakes_no_follower(world: AppSite) -> None:
    _, operation_id = await world.created()
    await world.controller.does(operation_id, "claim")
    await world.controller.does(operation_id, "report")
    known = await world.operation(operation_id)
    waiting = asyncio.create_task(follow(world, operation_id, known["generation"], wait=1))
    await world.controller.does(operation_id, "report")
    seen = await asyncio.wait_for(waiting, HANG)
    assert seen == known


async def test_the_wait_ends_with_what_there_is(world: AppSite) -> None:
    _, operation_id = await world.created()
    known = await world.operation(operation_id)
    begun = time.monotonic()
    assert await follow(world, operation_id, known["generation"], wait=1) == known
    assert time.monotonic() - begun > 0.9


async def test_what_is_newer_already_and_what_has_ended_are_not_waited_for(world: AppSite) -> None:
    _, operation_id = await world.created()
    assert (await asyncio.wait_for(follow(world, operation_id, 0, LONG), HANG))["status"] == "pending"
    await world.controller.carry_out(operation_id)
    ended = await world.operation(operation_id)
    assert await asyncio.wait_for(follow(world, operation_id, ended["generation"], LONG), HANG) == ended


async def test_an_operation_that_is_not_there_is_not_waited_for(world: AppSite) -> None:
    path = f"{world.path}/operations/op_{'0' * 26}?wait={LONG}&newer_than=1"
    assert (await asyncio.wait_for(world.admin.call("GET", path), HANG)).status_code == 404
    for bad in ("wait=61", "wait=-1", "newer_than=-1", f"newer_than={2**63}", "newer_than=x"):
        answer = await world.admin.call("GET", f"{world.path}/operations/op_{'0' * 26}?{bad}")
        assert answer.status_code == 422, bad
