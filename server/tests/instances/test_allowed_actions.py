"""What an instance and its members offer is what they accept, whatever state they are in and whatever works on them."""

from collections.abc import Awaitable, Callable
from itertools import product

import pytest

from gpuaas_server.instances import members, service, updates
from gpuaas_server.instances.drift_schemas import InstanceUpdate
from gpuaas_server.instances.log_targets import log_target
from gpuaas_server.instances.machine import (
    TRANSITIONS,
    members_changeable,
    possible_actions,
    possible_member_kinds,
)
from gpuaas_server.instances.member_operation_schemas import MemberOperationCreate
from gpuaas_server.instances.schemas import InstanceVerb
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.operation_kinds import INSTANCE_KINDS, KINDS
from tests_support.apps import FORCED, AppSite

LIVE = (None, "member", "instance")
ROLES = frozenset({"platform_admin"})
FAILURE = {"code": "no_way_in", "message": "The host is silent."}


@pytest.mark.parametrize(("status", "live"), [*product(TRANSITIONS, LIVE)])
def test_nothing_is_offered_that_the_live_operation_would_shut_out(status: str, live: str | None) -> None:
    for deployed, gone, back in product((True, False), repeat=3):
        offered = possible_actions(status, deployed, gone, live, back)
        whole = [action for action in offered if action.startswith("instance_")]
        if live is not None or gone:
            assert whole == []
        if live == "instance" or gone or not deployed:
            assert "member_operation_create" not in offered
        if live == "member" and deployed and not gone and status in ("running", "failed"):
            assert offered == ["member_operation_create"], "the other members are free"


@pytest.mark.parametrize(("status", "live"), [*product(TRANSITIONS, LIVE)])
def test_a_member_offers_nothing_while_its_instance_would_not_let_it(status: str, live: str | None) -> None:
    changeable = members_changeable(status, True, False, live)
    for member, busy in product(
        (*{one for kind in KINDS.values() for one in kind.member_from}, "joining"), (True, False)
    ):
        kinds = possible_member_kinds(member, busy, changeable)
        assert not kinds or (changeable and not busy)
        assert all(member in KINDS[kind].member_from for kind in kinds)


class _TakenBack(Exception):
    """Ends a transaction whose answer is all that is wanted."""


async def accepts(world: AppSite, ask: Callable[[Tx], Awaitable[object]]) -> bool:
    """Whether the platform would do it now; nothing of it stays."""
    try:
        async with world.platform.transaction(PLATFORM, system_actor("test")) as tx:
            await ask(tx)
            raise _TakenBack
    except _TakenBack:
        return True
    except Problem as problem:
        assert problem.kind.code in ("conflict", "operation_in_progress", "artifact_revoked"), problem
        return False


def caller(world: AppSite) -> Caller:
    return Caller("usr_x", world.tenant_id, world.project_id, ROLES, roles_in=lambda project_id: ROLES)


async def accepted_by_instance(world: AppSite, instance_id: str) -> set[str]:
    asked = (caller(world), instance_id)
    found = set()
    for kind in INSTANCE_KINDS:
        if await accepts(world, lambda tx, kind=kind: service.instance_operate(tx, *asked, kind, InstanceVerb())):
            found.add(f"instance_{kind}")
    add = MemberOperationCreate(kind="add", component_key="node", allocation_ids=[world.allocations[3]])
    if await accepts(world, lambda tx: members.member_operation_create(tx, caller(world), instance_id, add)):
        found.add("member_operation_create")
    auto = InstanceUpdate(reconcile_policy="auto")
    if await accepts(world, lambda tx: updates.instance_update(tx, *asked, auto, lambda generation: None)):
        found.add("instance_update")
    living = [member for member in await world.members(instance_id) if member["status"] != "removed"]
    if living and await accepts(world, lambda tx: log_target(tx.connection, *asked, living[0]["id"])):
        found.add("log_read")
    return found


async def accepted_by_member(world: AppSite, instance_id: str, member_id: str) -> set[str]:
    # What is offered is possible: by force, where the app needs the member.
    move = {"member_id": member_id, "allocation_id": world.allocations[3]}
    bodies = {
        "recover": MemberOperationCreate(kind="recover", targets=[member_id]),
        "replace": MemberOperationCreate(kind="replace", replacements=[move], **FORCED),
        **{kind: MemberOperationCreate(kind=kind, targets=[member_id], **FORCED) for kind in ("drain", "remove")},
    }
    found = set()
    for kind, body in bodies.items():
        asked = (caller(world), instance_id, body)
        if await accepts(world, lambda tx, asked=asked: members.member_operation_create(tx, *asked)):
            found.add(kind)
    return found


async def created(world: AppSite) -> str:
    return (await world.created())[0]


async def starting(world: AppSite) -> str:
    instance_id, operation_id = await world.created()
    await world.controller.does(operation_id, "claim")
    return instance_id


async def never_deployed(world: AppSite) -> str:
    instance_id, operation_id = await world.created()
    await world.controller.does(operation_id, "claim")
    await world.controller.does(operation_id, "fail", failure=FAILURE)
    return instance_id


async def running(world: AppSite) -> str:
    return await world.running()


async def reconciling(world: AppSite) -> str:
    instance_id = await world.running()
    await world.asked(instance_id, "reconcile")
    return instance_id


async def draining_one(world: AppSite) -> str:
    instance_id = await world.running()
    await drain_one(world, instance_id)
    return instance_id


async def draining_two(world: AppSite) -> str:
    instance_id = await world.running()
    nodes = [one["id"] for one in await world.members(instance_id) if one["component_key"] == "node"]
    await world.asked(instance_id, "member-operations", kind="drain", targets=nodes, on_failure="stop", **FORCED)
    return instance_id


async def drain_one(world: AppSite, instance_id: str) -> str:
    node = next(one["id"] for one in await world.members(instance_id) if one["component_key"] == "node")
    return await world.asked(instance_id, "member-operations", kind="drain", targets=[node])


async def drained_one(world: AppSite) -> str:
    instance_id = await world.running()
    await world.controller.carry_out(await drain_one(world, instance_id))
    return instance_id


async def stopping(world: AppSite) -> str:
    instance_id = await world.running()
    await world.asked(instance_id, "stop")
    return instance_id


async def stopped(world: AppSite) -> str:
    instance_id = await stopping(world)
    await world.controller.carry_out((await world.instance(instance_id))["operation_id"])
    await world.settle()
    return instance_id


async def failed(world: AppSite) -> str:
    instance_id = await stopping(world)
    operation_id = (await world.instance(instance_id))["operation_id"]
    await world.controller.does(operation_id, "claim")
    await world.controller.does(operation_id, "fail", failure=FAILURE)
    return instance_id


async def failed_with_one_recovering(world: AppSite) -> str:
    instance_id = await failed(world)
    broken = next(one["id"] for one in await world.members(instance_id) if one["status"] == "failed")
    await world.asked(instance_id, "member-operations", kind="recover", targets=[broken])
    return instance_id


async def decommissioned(world: AppSite) -> str:
    instance_id = await world.running()
    await world.controller.carry_out(await world.asked(instance_id, "decommission"))
    await world.settle()
    return instance_id


async def flagged(world: AppSite, instance_id: str) -> str:
    """The artifact that it runs from is revoked."""
    await world.revoke((await world.instance(instance_id))["digest"])
    assert [one["code"] for one in (await world.instance(instance_id))["flags"]] == ["artifact_revoked"]
    return instance_id


async def flagged_before_it_was_deployed(world: AppSite) -> str:
    return await flagged(world, await never_deployed(world))


async def flagged_and_running(world: AppSite) -> str:
    return await flagged(world, await running(world))


async def upgraded_from_flagged(world: AppSite) -> str:
    instance_id = await world.running()
    revoked = (await world.instance(instance_id))["digest"]
    await world.publish(version="1.4.0", artifact={"kind": "controller", "digest": "sha256:" + "b" * 64})
    await world.controller.carry_out(await world.asked(instance_id, "upgrade", version="1.4.0"))
    assert "instance_rollback" in (await world.instance(instance_id))["allowed_actions"]
    await world.revoke(revoked)
    return instance_id


async def flagged_and_stopped(world: AppSite) -> str:
    return await flagged(world, await stopped(world))


async def flagged_and_failed(world: AppSite) -> str:
    return await flagged(world, await failed(world))


PLACES = {
    created: ("created", "instance"),
    starting: ("starting", "instance"),
    never_deployed: ("failed", None),
    running: ("running", None),
    reconciling: ("running", "instance"),
    draining_one: ("running", "member"),
    draining_two: ("running", "member"),
    drained_one: ("running", None),
    stopping: ("stopping", "instance"),
    stopped: ("stopped", None),
    failed: ("failed", None),
    failed_with_one_recovering: ("failed", "member"),
    decommissioned: ("stopped", None),
    flagged_before_it_was_deployed: ("failed", None),
    flagged_and_running: ("running", None),
    upgraded_from_flagged: ("running", None),
    flagged_and_stopped: ("stopped", None),
    flagged_and_failed: ("failed", None),
}


@pytest.mark.parametrize("reach", PLACES, ids=lambda reach: reach.__name__)
async def test_what_is_offered_is_accepted_and_what_is_not_is_refused(
    world: AppSite, reach: Callable[[AppSite], Awaitable[str]]
) -> None:
    instance_id = await reach(world)
    instance = await world.instance(instance_id)
    everybody = await world.members(instance_id)
    busy = any(member["operation_id"] for member in everybody)
    live = "instance" if instance["operation_id"] else "member" if busy else None
    assert (instance["status"], live) == PLACES[reach]
    assert set(instance["allowed_actions"]) == await accepted_by_instance(world, instance_id)
    (listed,) = (await world.admin.get(f"{world.path}/instances"))["items"]
    assert listed["allowed_actions"] == instance["allowed_actions"]
    for member in everybody:
        assert set(member["allowed_actions"]) == await accepted_by_member(world, instance_id, member["id"])


async def test_a_teardown_whose_proof_is_awaited_offers_no_cancel_and_refuses_one(world: AppSite) -> None:
    instance_id = await stopping(world)
    operation_id = (await world.instance(instance_id))["operation_id"]
    assert "operation_cancel" in (await world.operation(operation_id))["allowed_actions"]
    verifying = await world.controller.carry_out(operation_id)
    assert verifying["phase"] == "verifying"
    assert (await world.operation(operation_id))["allowed_actions"] == ["operation_force"]
    refused = await world.admin.call("POST", f"{world.path}/operations/{operation_id}/cancel", {})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
