"""A controller's way in: for the holder of the lease, on the operation's allocations, no longer than the operation."""

import asyncio
import base64
import struct
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from gpuaas_server.access import service
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from tests_support import apps
from tests_support.agents import Json, ssh_line
from tests_support.apps import AppSite, Controller
from tests_support.select import select


@pytest.fixture
async def world(platform: Platform) -> AsyncIterator[AppSite]:
    async with apps.opened(platform) as opened:
        yield opened


async def machine_access(controller: Controller, operation_id: str) -> Json:
    answer = await controller.send(operation_id, "machine-access", {"public_key": ssh_line()})
    assert answer.status_code == 201, answer.text
    found: Json = answer.json()
    return found


async def code(controller: Controller, operation_id: str, **body: object) -> str:
    answer = await controller.send(operation_id, "machine-access", {"public_key": ssh_line(), **body})
    assert answer.status_code >= 400, answer.text
    return str(answer.json()["code"])


async def revoked(world: AppSite) -> dict[str, list[int]]:
    """What the hosts are told, allocation by allocation, once the worker has had its turn."""
    await world.settle()
    async with world.platform.database.connection(PLATFORM) as connection:
        rows = await (await select(connection, "SELECT id, access_wanted, access_sent FROM allocations")).fetchall()
        assert all(row["access_wanted"] == row["access_sent"] for row in rows)  # every host has been told
        found = {row["id"]: await service.revoked_serials(connection, row["id"], world.clock()) for row in rows}
    return {allocation: serials for allocation, serials in found.items() if serials}


def issued(given: Json) -> dict[str, list[int]]:
    return {one["principal"]: [one["serial"]] for one in given["certificates"]}


def valid_before(certificate: str) -> int:
    """As sshd reads it out of the blob: after the public key come serial, type, key id, principals, and the times."""
    blob = base64.b64decode(certificate.split(" ")[1])

    def skip(at: int) -> int:
        return at + 4 + int(struct.unpack(">I", blob[at : at + 4])[0])

    at = skip(skip(skip(0))) + 8 + 4  # type name, nonce, Ed25519 key; serial and certificate type
    at = skip(skip(at)) + 8  # key id, principals; valid after
    return int(struct.unpack(">Q", blob[at : at + 8])[0])


async def test_the_holder_of_the_lease_gets_a_certificate_for_each_allocation(world: AppSite) -> None:
    _, operation_id = await world.created(nodes=2)
    await world.controller.does(operation_id, "claim")
    given = await machine_access(world.controller, operation_id)
    assert {one["principal"] for one in given["certificates"]} == set(world.allocations[:2])
    for one in given["certificates"]:
        assert one["ssh"] == {"address": "10.0.0.1", "port": 22, "user": "gpu"}
        assert one["host_ca_keys"]
        assert one["principal"] in one["known_hosts_line"]
    assert given["unreachable"] == []
    [row] = (await world.admin.get("/audit?action=operation_machine_access"))["items"]
    assert sorted(row["details"]["serials"]) == sorted(one["serial"] for one in given["certificates"])


async def test_a_certificate_lasts_an_hour_at_most_and_never_beyond_the_deadline(world: AppSite) -> None:
    _, operation_id = await world.created()
    await world.controller.does(operation_id, "claim")
    for deadline, longest in ((timedelta(hours=3), timedelta(hours=1)), (timedelta(minutes=7), timedelta(minutes=7))):
        async with world.platform.database.connection(PLATFORM) as connection:
            await connection.execute("UPDATE app_operations SET deadline_at = %s", (world.clock() + deadline,))
        given = await machine_access(world.controller, operation_id)
        until = datetime.fromisoformat(given["valid_before"])
        assert timedelta() <= world.clock() + longest - until < timedelta(seconds=20)
        assert {valid_before(one["certificate"]) for one in given["certificates"]} == {int(until.timestamp())}


@pytest.mark.parametrize("end", ["complete", "fail", "cancel", "force", "expire"])
async def test_the_hosts_are_notified_immediately_however_the_operation_ends(world: AppSite, end: str) -> None:
    _, operation_id = await world.created()
    await world.controller.does(operation_id, "claim")
    given = await machine_access(world.controller, operation_id)
    if end == "complete":
        await world.controller.does(operation_id, "complete")
    elif end == "expire":
        async with world.platform.database.connection(PLATFORM) as connection:
            await connection.execute("UPDATE app_operations SET deadline_at = %s", (world.clock(),))
            await connection.execute("UPDATE work_items SET run_at = %s", (world.clock(),))
    else:
        failure = {"code": "broken", "message": "It broke.", "next_step": "Mend it.", "retryable": False}
        if end == "cancel":
            await world.admin.post(f"{world.path}/operations/{operation_id}/cancel", {})
        if end == "force":
            await world.admin.post(f"{world.path}/operations/{operation_id}/force", {"reason": "stuck for hours"})
        else:
            await world.controller.does(operation_id, "fail", failure=failure)
    assert await revoked(world) == issued(given)
    assert await code(world.controller, operation_id) == "lease_lost"


async def test_a_new_holder_shuts_the_old_one_out(world: AppSite) -> None:
    _, operation_id = await world.created()
    await world.controller.does(operation_id, "claim")
    given = await machine_access(world.controller, operation_id)
    world.clock.ahead += timedelta(minutes=5)
    await world.settle()
    second = world.second_replica()
    await second.does(operation_id, "claim")
    assert await revoked(world) == issued(given)
    assert await code(world.controller, operation_id) == "lease_lost"
    again = await machine_access(second, operation_id)
    assert set(issued(again)) == set(issued(given))


async def test_a_controller_that_reported_the_end_has_no_access_during_the_inspection(world: AppSite) -> None:
    instance_id = await world.running()
    operation_id = await world.asked(instance_id, "stop")
    await world.controller.does(operation_id, "claim")
    given = await machine_access(world.controller, operation_id)
    assert (await world.controller.does(operation_id, "complete"))["status"] == "running"
    assert await code(world.controller, operation_id) == "lease_lost"
    assert await revoked(world) == issued(given)


async def test_only_the_lease_gives_machine_access(world: AppSite) -> None:
    _, operation_id = await world.created()
    await world.controller.does(operation_id, "claim")
    assert await code(world.controller, operation_id, lease_token=f"lease_{'x' * 43}") == "lease_lost"
    other = await world.another_controller(apps=("other",))
    other.token = world.controller.token
    assert await code(other, operation_id) in ("not_the_controller", "lease_lost")
    for body in ({"public_key": "ssh-rsa AAAA"}, {"lease_token": "x"}, {"minutes": 500}):
        assert await code(world.controller, operation_id, **body) in ("invalid_request", "ssh_key_refused")


async def test_a_certificate_cannot_slip_out_while_the_operation_ends(world: AppSite) -> None:
    """Both at once, many times over: what was given out is revoked, or nothing was given out."""
    instance_id = await world.running()
    for _ in range(6):
        operation_id = await world.asked(instance_id, "reconcile")
        await world.controller.does(operation_id, "claim")
        asked = [world.controller.send(operation_id, "machine-access", {"public_key": ssh_line()}) for _ in range(3)]
        failure = {"code": "broken", "message": "It broke.", "next_step": "Mend it.", "retryable": False}
        *answers, ended = await asyncio.gather(
            *asked, world.controller.send(operation_id, "fail", {"failure": failure})
        )
        assert ended.status_code == 200, ended.text
        given = {one["serial"] for a in answers if a.status_code == 201 for one in a.json()["certificates"]}
        told = await revoked(world)
        assert given <= {serial for serials in told.values() for serial in serials}


async def test_an_operation_on_a_member_opens_the_machines_of_the_components_that_it_depends_on(world: AppSite) -> None:
    instance_id = await world.running()
    head, newcomer, bystander = world.allocations[0], world.allocations[2], world.allocations[1]
    added = await world.change_members(instance_id, "add", component_key="node", allocation_ids=[newcomer])
    operation_id = added.json()["id"]
    await world.controller.does(operation_id, "claim")
    opened = set(issued(await machine_access(world.controller, operation_id)))
    assert opened == {head, newcomer}  # a node depends on the head, and on no other node
    assert bystander not in opened


@pytest.mark.parametrize("opens", [False, True])
async def test_an_operation_on_a_head_opens_its_dependents_where_the_manifest_says_so(
    world: AppSite, opens: bool
) -> None:
    """A failover has to reach those who follow the new head."""
    head = {"key": "head", "min": 1, "max": 1, "opens_dependents": opens}
    node = {"key": "node", "min": 1, "max": 8, "depends_on": ["head"]}
    await world.publish(version="2.0.0", components=[head, node])
    places = [{"component_key": "head", "allocation_id": world.allocations[0]}]
    places += [{"component_key": "node", "allocation_id": one} for one in world.allocations[1:3]]
    instance_id, deploy = await world.created("failing", version="2.0.0", placement_intent=places)
    await world.controller.carry_out(deploy)
    members = {one["allocation_id"]: one["id"] for one in await world.members(instance_id)}
    drain = {"kind": "drain", "force": True, "reason": "a failover"}
    opened = []
    for place in world.allocations[:2]:
        operation_id = await world.asked(instance_id, "member-operations", targets=[members[place]], **drain)
        await world.controller.does(operation_id, "claim")
        given = await machine_access(world.controller, operation_id)
        opened.append({one["principal"] for one in given["certificates"]})
        await world.controller.does(operation_id, "complete")
    of_head = set(world.allocations[:3] if opens else world.allocations[:1])
    assert opened == [of_head, set(world.allocations[:2])], "a node opens itself and its head, never its neighbours"
