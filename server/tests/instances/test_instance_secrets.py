"""The secrets of an instance: made or given, sealed, read by the controller in an operation, and shown to nobody."""

import base64
from typing import Any

from gpuaas_server.kernel.database import PLATFORM
from tests_support.agents import Json
from tests_support.apps import AppSite, Controller
from tests_support.projects import Recipient
from tests_support.select import select

KEY = {"key": "cluster-key", "source": "generated", "kind": "bytes", "length": 48}
OWN = {"key": "admin-word", "source": "generated", "length": 20, "shared": False}
TOKEN = {"key": "hub-token", "source": "given", "description": "A token of the model hub."}
GIVEN = "hf_" + "s3cr3t" * 6


async def launched(world: AppSite, *declared: Json, **more: object) -> tuple[str, str]:
    """An instance of an app with these secrets, and its deploy, which the controller has claimed."""
    await world.publish(version="1.5.0", secrets=list(declared))
    instance_id, operation_id = await world.created("secretive", nodes=3, version="1.5.0", **more)
    await world.controller.does(operation_id, "claim")
    return instance_id, operation_id


async def read(world: AppSite, operation_id: str, by: Controller | None = None) -> dict[str, Json]:
    """What the controller reads, opened with its key: `value`, `previous`, `version` by name."""
    recipient, reader = Recipient.new(), by or world.controller
    body = {"lease_token": reader.token, "recipient_key": recipient.key}
    path = f"{world.path}/operations/{operation_id}/secrets"
    found = (await reader.person.post(path, body))["items"]
    return {
        one["name"]: {
            "value": recipient.open(one["sealed"]),
            "previous": one["previous_sealed"] and recipient.open(one["previous_sealed"]),
            "version": one["version"],
            "rotated": one["rotated"],
        }
        for one in found
    }


async def listed(world: AppSite, instance_id: str) -> dict[str, Json]:
    found = await world.admin.get(f"{world.path}/instances/{instance_id}/secrets")
    return {one["name"]: one for one in found["items"]}


async def everything(world: AppSite) -> str:
    """All that the database holds in clear, as text."""
    tables = (
        "audit_records",
        "events",
        "app_instance_events",
        "app_operations",
        "app_instances",
        "instance_secrets",
        "secrets",
    )
    async with world.platform.database.connection(PLATFORM) as connection:
        parts = [
            str(await (await select(connection, f"SELECT to_jsonb(t) AS row FROM {table} t")).fetchall())  # type: ignore[arg-type]
            for table in tables
        ]
    return " ".join(parts)


async def test_a_generated_secret_is_made_at_the_first_read_and_stays_the_same(world: AppSite) -> None:
    instance_id, operation_id = await launched(world, KEY, OWN)
    assert (await listed(world, instance_id))["cluster-key"]["version"] is None
    first, again = await read(world, operation_id), await read(world, operation_id)
    assert first == again
    assert len(first["cluster-key"]["value"]) == 48
    word = first["admin-word"]["value"].decode()
    assert (len(word), word.isalnum()) == (20, True)
    await world.controller.does(operation_id, "complete")
    shown = await listed(world, instance_id)
    assert (shown["cluster-key"]["version"], shown["cluster-key"]["set_by"]) == (1, world.controller.account_id)
    assert shown["admin-word"]["allowed_actions"] == ["instance_secret_rotate"]
    kept = await everything(world)
    assert word not in kept
    assert base64.b64encode(first["cluster-key"]["value"]).decode() not in kept


async def test_what_members_know_is_made_anew_when_one_leaves_and_the_old_value_is_destroyed(world: AppSite) -> None:
    instance_id, operation_id = await launched(world, KEY, OWN)
    before = await read(world, operation_id)
    await world.controller.does(operation_id, "complete")
    node = next(one["id"] for one in await world.members(instance_id) if one["component_key"] == "node")
    await world.controller.carry_out(await world.asked(instance_id, "member-operations", kind="remove", targets=[node]))
    await world.settle()
    rotation = str((await world.instance(instance_id))["operation_id"])
    assert (await world.operation(rotation))["parameters"] == {"rotate_secrets": True, "secrets": ["cluster-key"]}
    await world.controller.does(rotation, "claim")
    during = await read(world, rotation)
    assert during["cluster-key"]["value"] != before["cluster-key"]["value"] == during["cluster-key"]["previous"]
    assert (during["cluster-key"]["rotated"], during["admin-word"]) == (True, before["admin-word"])
    await world.controller.does(rotation, "give-back")
    other = world.second_replica()
    await other.does(rotation, "claim")
    assert await read(world, rotation, other) == during, "an attempt that follows finds what was made"
    await other.does(rotation, "complete")
    restart = await world.asked(instance_id, "restart")
    await world.controller.does(restart, "claim")
    after = await read(world, restart)
    assert (after["cluster-key"]["value"], after["cluster-key"]["previous"]) == (during["cluster-key"]["value"], None)


async def test_a_rotation_that_failed_makes_another_value_the_next_time(world: AppSite) -> None:
    instance_id, operation_id = await launched(world, KEY)
    await world.controller.does(operation_id, "complete")
    path = f"{world.path}/instances/{instance_id}/secrets/cluster-key/rotate"
    asked = await world.admin.post(path, {"reason": "a laptop was stolen"})
    first = asked["operation"]["id"]
    await world.controller.does(first, "claim")
    one = await read(world, first)
    await world.controller.does(first, "fail", failure={"code": "no_way_in", "message": "The host is silent."})
    assert (await listed(world, instance_id))["cluster-key"]["rotation_due"]
    repair = await world.asked(instance_id, "repair")
    await world.controller.carry_out(repair)
    second = str((await world.instance(instance_id))["operation_id"])
    await world.controller.does(second, "claim")
    two = await read(world, second)
    assert (one["cluster-key"]["version"], two["cluster-key"]["version"]) == (1, 2)
    assert two["cluster-key"]["previous"] == one["cluster-key"]["value"]


async def test_a_given_secret_is_needed_at_launch_write_only_and_replaced_by_people(world: AppSite) -> None:
    await world.publish(version="1.5.0", secrets=[TOKEN])
    lacking = await world.create("lacking", version="1.5.0")
    assert (lacking.status_code, lacking.json()["code"]) == (409, "secret_missing")
    unknown = await world.create(
        "lacking", version="1.5.0", secrets={"hub-token": {"value": "x"}, "other": {"value": "y"}}
    )
    assert (unknown.status_code, "takes no such secret" in unknown.text) == (422, True)
    made = await world.create("given", nodes=3, version="1.5.0", secrets={"hub-token": {"value": GIVEN}})
    assert (made.status_code, GIVEN in made.text) == (201, False)
    instance_id, deploy = made.json()["instance"]["id"], made.json()["operation"]["id"]
    await world.controller.does(deploy, "claim")
    assert (await read(world, deploy))["hub-token"]["value"] == GIVEN.encode()
    await world.controller.does(deploy, "complete")
    node = next(one["id"] for one in await world.members(instance_id) if one["component_key"] == "node")
    await world.controller.carry_out(await world.asked(instance_id, "member-operations", kind="remove", targets=[node]))
    exposed = await world.instance(instance_id)
    assert exposed["operation_id"] is None, "nobody but a person can replace it"
    assert [one["code"] for one in exposed["health_reasons"]] == ["secrets_exposed"]
    path = f"{world.path}/instances/{instance_id}/secrets/hub-token"
    assert (await world.admin.call("POST", f"{path}/rotate", {})).status_code == 409
    body = {"value": base64.b64encode(b"\x00another").decode(), "encoding": "base64"}
    changed = (await world.admin.call("PUT", path, body)).json()
    assert (changed["secret"]["version"], changed["secret"]["exposed"]) == (2, False)
    await world.controller.does(changed["operation"]["id"], "claim")
    got = (await read(world, changed["operation"]["id"]))["hub-token"]
    assert (got["value"], got["previous"], got["rotated"]) == (b"\x00another", GIVEN.encode(), True)
    await world.controller.does(changed["operation"]["id"], "complete")
    assert (await world.instance(instance_id))["health_reasons"] == []
    assert GIVEN not in await everything(world)


async def test_only_who_holds_the_lease_reads_and_only_while_it_lasts(world: AppSite) -> None:
    _, operation_id = await launched(world, KEY)
    stranger = await world.another_controller(apps=("other-app",))
    path, body = f"{world.path}/operations/{operation_id}/secrets", {"recipient_key": Recipient.new().key}

    async def refused(person: Any, token: str) -> str:
        answer = await person.call("POST", path, {**body, "lease_token": token})
        return f"{answer.status_code} {answer.json()['code']}"

    assert await refused(stranger.person, world.controller.token) == "403 not_the_controller"
    assert await refused(world.controller.person, "lease_wrong") == "409 lease_lost"
    assert await refused(world.admin, world.controller.token) == "403 forbidden"
    await world.controller.does(operation_id, "complete")
    assert await refused(world.controller.person, world.controller.token) == "409 lease_lost"


async def test_the_end_of_an_instance_destroys_its_secrets(world: AppSite) -> None:
    instance_id, operation_id = await launched(world, KEY)
    await read(world, operation_id)
    await world.controller.does(operation_id, "complete")
    await world.controller.carry_out(await world.asked(instance_id, "decommission"))
    await world.settle()
    async with world.platform.database.connection(PLATFORM) as connection:
        left = await select(
            connection,
            "SELECT count(*) FILTER (WHERE destroyed_at IS NULL) AS living, (SELECT count(*) FROM instance_secrets) AS kept"
            " FROM secrets WHERE purpose = 'instance_secret'",
        )
        assert await left.fetchone() == {"living": 0, "kept": 0}
