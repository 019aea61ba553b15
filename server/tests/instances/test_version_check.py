"""Every version that an instance takes, keeps on hosts or returns to goes through one check; revocation reaches them all."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gpuaas_server.instances import flags
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.work import leases
from tests_support.agents import Json
from tests_support.apps import FORCED, INPUTS, QUEUE, AppSite

NEWER = "sha256:" + "b" * 64


async def _execute(world: AppSite, statement: str, *values: object) -> None:
    async with world.platform.transaction(PLATFORM, system_actor("test")) as tx:
        await tx.connection.execute(statement, values)
        tx.audited = True


async def _revoked(world: AppSite, digest: str) -> str:
    await world.revoke(digest)
    return "artifact_revoked"


async def _retired(world: AppSite, digest: str) -> str:
    """As the row says it; a version in use is not retired by the API, but one to return to is: see below."""
    await _execute(world, "UPDATE app_versions SET status = 'retired' WHERE artifact_digest = %s", digest)
    async with world.platform.transaction(PLATFORM, system_actor("test")) as tx:
        await leases.enqueue(tx, flags.WORK, [flags.tenant_subject(world.tenant_id)])
        tx.audited = True
    await world.settle()
    return "version_refused"


async def _signature_not_trusted(world: AppSite, digest: str) -> str:
    """The tenant wants signatures, and revokes the only key that signed these bytes."""
    pem = generate_private_key(SECP256R1()).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    keys = f"/tenants/{world.tenant_id}/trust-keys"
    key = await world.admin.post(keys, {"name": "builds", "public_key": pem.decode()})
    signed = "UPDATE artifacts SET signed_by = %s, trust = 'verified' WHERE digest = %s"
    await _execute(world, signed, [key["fingerprint"]], digest)
    await world.admin.post(f"{keys}/{key['id']}/revoke", {"reason": "it was copied"})
    await world.settle()
    return "artifact_untrusted"


LOSSES = (_revoked, _retired, _signature_not_trusted)
Loss = Callable[[AppSite, str], Awaitable[str]]


async def _two_versions(world: AppSite) -> tuple[str, str]:
    """An instance that was upgraded, and the digest of the version that it could return to."""
    instance_id = await world.running(nodes=1)
    older = (await world.instance(instance_id))["digest"]
    await world.publish(version="1.3.0", artifact={"kind": "controller", "digest": NEWER})
    await world.controller.carry_out(await world.asked(instance_id, "upgrade", version="1.3.0"))
    return instance_id, older


async def _member(world: AppSite, instance_id: str) -> str:
    return str(next(one["id"] for one in await world.members(instance_id) if one["component_key"] == "node"))


@pytest.mark.parametrize("lose", LOSSES)
async def test_bytes_that_lost_their_standing_are_brought_to_no_host_by_any_verb(world: AppSite, lose: Loss) -> None:
    made = await _asked_for(world, "never", place=2)
    never = made["instance"]["id"]
    await world.admin.post(f"{world.path}/operations/{made['operation']['id']}/cancel", {})
    instance_id = await world.running(nodes=1)
    digest = (await world.instance(instance_id))["digest"]
    node = await _member(world, instance_id)
    drain = {"kind": "drain", "targets": [node], **FORCED}
    await world.controller.carry_out(await world.asked(instance_id, "member-operations", **drain))
    code = await lose(world, digest)
    free = world.allocations[3]
    answers = {
        "launch": await world.create("second", nodes=1),
        "deploy": await world.ask(never, "deploy"),
        "reconcile": await world.ask(instance_id, "reconcile"),
        "repair": await world.ask(instance_id, "repair"),
        "add": await world.change_members(instance_id, "add", component_key="node", allocation_ids=[free]),
        "recover": await world.change_members(instance_id, "recover", targets=[node]),
        "replace": await world.change_members(
            instance_id, "replace", replacements=[{"member_id": node, "allocation_id": free}]
        ),
    }
    told = {verb: (answer.status_code, answer.json()["code"]) for verb, answer in answers.items()}
    assert told == {verb: (409, "not_launchable" if verb == "launch" else code) for verb in answers}
    assert all(answer.json()["details"]["reasons"] for answer in answers.values()), "every reason is named"
    shown = await world.instance(instance_id)
    assert (shown["status"], shown["flags"][0]["code"]) == ("running", code)
    assert "Upgrade it" in shown["flags"][0]["message"]


@pytest.mark.parametrize("lose", LOSSES)
async def test_a_version_that_lost_its_standing_is_not_returned_to_or_taken(world: AppSite, lose: Loss) -> None:
    instance_id, older = await _two_versions(world)
    assert "instance_rollback" in (await world.instance(instance_id))["allowed_actions"]
    code = await lose(world, older)
    refused = await world.ask(instance_id, "rollback")
    assert (refused.status_code, refused.json()["code"]) == (409, code)
    upgrade = await world.ask(instance_id, "upgrade", version="1.2.0")
    assert (upgrade.status_code, upgrade.json()["code"]) == (409, "not_launchable")
    shown = await world.instance(instance_id)
    assert [flag["code"] for flag in shown["flags"]] == ["previous_version_refused"]
    assert "1.2.0" in shown["flags"][0]["message"]
    assert "upgrade to another version" in shown["flags"][0]["message"]
    assert ("instance_rollback" in shown["allowed_actions"], shown["health"]) == (False, "healthy")


async def test_a_version_is_retired_by_its_publisher_and_nobody_returns_to_it(world: AppSite) -> None:
    instance_id, _ = await _two_versions(world)
    (app,) = (await world.admin.get(f"{world.path}/apps"))["items"]
    versions = f"{world.path}/apps/{app['id']}/versions"
    (old,) = [one for one in (await world.admin.get(versions))["items"] if one["version"] == "1.2.0"]
    await world.admin.post(f"{versions}/{old['id']}/deprecate", {"notice": "use 1.3.0"})
    assert "instance_rollback" in (await world.instance(instance_id))["allowed_actions"], "deprecated is no refusal"
    world.clock.ahead += timedelta(minutes=2)
    await world.admin.post(f"{versions}/{old['id']}/retire", {"reason": "it is old"})
    await world.settle()
    shown = await world.instance(instance_id)
    assert [flag["code"] for flag in shown["flags"]] == ["previous_version_refused"]
    refused = await world.ask(instance_id, "rollback")
    assert refused.json()["code"] == "version_refused"
    assert [reason["code"] for reason in refused.json()["details"]["reasons"]] == ["version_retired"]


async def test_a_rollback_that_is_asked_for_before_the_revocation_and_not_begun_ends_without_it(world: AppSite) -> None:
    instance_id, older = await _two_versions(world)
    operation_id = await world.asked(instance_id, "rollback")
    await world.revoke(older)
    ended = await world.operation(operation_id)
    assert (ended["status"], ended["failure"]["code"]) == ("failed", "artifact_revoked")
    shown = await world.instance(instance_id)
    assert (shown["version"], shown["operation_id"]) == ("1.3.0", None)


async def test_bytes_that_are_revoked_while_an_upgrade_to_them_runs_are_flagged_when_it_ends(world: AppSite) -> None:
    instance_id = await world.running(nodes=1)
    await world.publish(version="1.3.0", artifact={"kind": "controller", "digest": NEWER})
    operation_id = await world.asked(instance_id, "upgrade", version="1.3.0")
    await world.controller.does(operation_id, "claim")
    await world.revoke(NEWER)
    during = await world.instance(instance_id)
    assert [flag["code"] for flag in during["flags"]] == ["attempted_version_refused"]
    await world.controller.does(operation_id, "complete")
    after = await world.instance(instance_id)
    assert (after["version"], [flag["code"] for flag in after["flags"]]) == ("1.3.0", ["artifact_revoked"])
    back = await world.controller.carry_out(await world.asked(instance_id, "rollback"))
    assert back["status"] == "succeeded"
    after = await world.instance(instance_id)
    assert (after["version"], [one["code"] for one in after["flags"]]) == ("1.2.0", ["previous_version_refused"])


async def test_a_portion_of_instances_asks_for_the_next(world: AppSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flags, "PORTION", 1)
    ids = [await _alone(world, name, n) for n, name in enumerate(("one", "two", "three"))]
    digest = (await world.instance(ids[0]))["digest"]
    await world.revoke(digest)
    told = [[flag["code"] for flag in (await world.instance(one))["flags"]] for one in ids]
    assert told == [["artifact_revoked"]] * 3


async def _asked_for(world: AppSite, name: str, place: int) -> Json:
    """An instance on one allocation, whose deploy nobody has begun."""
    intent = [{"component_key": key, "allocation_id": world.allocations[place]} for key in ("head", "node")]
    body: Json = {"app": "echo", "name": name, "placement_intent": intent, "inputs": INPUTS, **QUEUE}
    return await world.admin.post(f"{world.path}/instances", body)


async def _alone(world: AppSite, name: str, place: int) -> str:
    made = await _asked_for(world, name, place)
    await world.controller.carry_out(made["operation"]["id"])
    return str(made["instance"]["id"])
