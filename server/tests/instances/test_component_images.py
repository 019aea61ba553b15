"""A version whose components run images of their own: each image counts as the version's artifact does."""

from datetime import datetime, timedelta
from typing import Any

from gpuaas_server.artifacts import collection, queries
from gpuaas_server.kernel.database import PLATFORM
from tests_support.agents import Json
from tests_support.apps import AppSite
from tests_support.manifests import DIGEST, document, text_of
from tests_support.page_counts import CountingConnection

OTHER = "sha256:" + "b" * 64


def _changes(version: str = "2.0.0") -> Json:
    components = document()["components"]
    components[0]["runtime_profile"] = {"image": DIGEST}
    components[1]["runtime_profile"] = {"image": OTHER}
    return {"version": version, "artifact": {"kind": "oci", "digest": DIGEST}, "components": components}


async def test_an_image_of_a_component_that_is_revoked_stops_launches_and_flags_what_runs(world: AppSite) -> None:
    await world.publish(**_changes())
    instance_id, operation_id = await world.created(nodes=1, version="2.0.0")
    await world.controller.carry_out(operation_id)
    await world.revoke(OTHER)
    shown = await world.instance(instance_id)
    assert [flag["code"] for flag in shown["flags"]] == ["artifact_revoked"]
    assert shown["component_profiles"] == {"head": {"image": DIGEST}, "node": {"image": OTHER}}
    refused = await world.create("second", nodes=1, version="2.0.0")
    assert (refused.status_code, refused.json()["code"]) == (409, "not_launchable"), refused.text
    assert OTHER in refused.json()["detail"]


async def test_an_image_of_a_component_is_in_use_as_long_as_a_version_or_an_instance_has_it(world: AppSite) -> None:
    await world.publish(**_changes())
    instance_id, operation_id = await world.created(nodes=1, version="2.0.0")
    await world.controller.carry_out(operation_id)
    path = await world.artifact(OTHER)
    refused = await world.admin.call("DELETE", path)
    assert (refused.status_code, refused.json()["code"]) == (409, "artifact_in_use"), refused.text
    assert refused.json()["details"] == {"app_versions": ["echo 2.0.0"], "live_instances": 1}
    await world.controller.carry_out(await world.asked(instance_id, "decommission"))
    await world.settle()
    assert (await world.admin.call("DELETE", path)).json()["details"]["live_instances"] == 0


async def test_a_collection_takes_no_image_that_a_version_or_an_instance_has_in_a_component(world: AppSite) -> None:
    await world.publish(**_changes())
    instance_id, operation_id = await world.created(nodes=1, version="2.0.0")
    await world.controller.carry_out(operation_id)

    async def garbage() -> set[str]:
        return {one["digest"] for one in (await world.admin.get(f"{world.path}/artifact-garbage"))["items"]}

    async def change(statement: str) -> None:
        async with world.platform.database.connection(PLATFORM) as connection:
            await connection.execute(statement)

    await change("UPDATE artifacts SET stage = 'deprecated'")
    assert await garbage() == set(), "versions refer to all of them"
    await change("UPDATE app_versions SET status = 'retired'")
    assert not {DIGEST, OTHER} & await garbage(), "an instance runs from both"
    await world.controller.carry_out(await world.asked(instance_id, "decommission"))
    await world.settle()
    assert await garbage() >= {DIGEST, OTHER}


async def test_the_grace_period_begins_when_the_last_instance_ended_or_the_last_version_was_retired(
    world: AppSite,
) -> None:
    await world.publish(**_changes())
    instance_id, operation_id = await world.created(nodes=1, version="2.0.0")
    await world.controller.carry_out(operation_id)
    await world.controller.carry_out(await world.asked(instance_id, "decommission"))
    await world.settle()
    grace = timedelta(hours=world.platform.settings.artifact_grace_hours)

    async def change(statement: str) -> None:
        async with world.platform.database.connection(PLATFORM) as connection:
            await connection.execute(statement)

    async def begins() -> dict[str, datetime]:
        listed = (await world.admin.get(f"{world.path}/artifact-garbage"))["items"]
        found = {one["digest"]: datetime.fromisoformat(one["collectable_at"]) - grace for one in listed}
        return {digest: found[digest] for digest in (DIGEST, OTHER)}

    long_ago = "now() - interval '30 days'"
    await change(f"UPDATE artifacts SET stage = 'deprecated', created_at = {long_ago}, stage_since = {long_ago}")
    await change(f"UPDATE app_versions SET status = 'retired', retired_at = {long_ago}")
    ended = datetime.fromisoformat((await world.instance(instance_id))["decommissioned_at"])
    assert await begins() == {DIGEST: ended, OTHER: ended}
    collected = await world.admin.call("POST", f"{world.path}/artifact-garbage/collect", {"reason": "to save bytes"})
    assert not {DIGEST, OTHER} & {one["digest"] for one in collected.json()["items"]}
    retired = ended + timedelta(hours=1)
    await change(f"UPDATE app_versions SET retired_at = '{retired.isoformat()}' WHERE version = '2.0.0'")
    assert await begins() == {DIGEST: retired, OTHER: retired}
    await change(f"UPDATE app_versions SET retired_at = {long_ago}")
    await change(f"UPDATE app_instances SET decommissioned_at = {long_ago}")
    listed = (await world.admin.get(f"{world.path}/artifact-garbage"))["items"]
    assert {DIGEST, OTHER} <= {one["digest"] for one in listed if one["due"]}


async def test_a_collection_asks_as_often_for_many_artifacts_as_for_one(world: AppSite) -> None:
    await world.publish(**_changes())
    async with world.platform.database.connection(PLATFORM) as connection:
        await connection.execute("UPDATE artifacts SET stage = 'deprecated'")
        rows = await queries.collectable_artifacts(connection, world.project_id, ["deprecated"], None, 10)
        asked = list[int]()
        for portion in (rows[:1], rows):
            counting: Any = CountingConnection(connection)
            await collection._unused(counting, world.project_id, portion)
            asked.append(counting.statements)
    assert len(rows) > 1
    assert asked[0] == asked[1]


async def test_a_version_is_activated_only_when_every_image_is_active(world: AppSite) -> None:
    registered = await world.admin.post(
        f"{world.path}/app-versions", {"manifest": text_of({**document(), **_changes("3.0.0")})}
    )
    path = f"{world.path}/apps/{registered['app_id']}/versions/{registered['id']}/activate"
    world.clock.ahead += timedelta(seconds=1)
    refused = await world.admin.call("POST", path, {})
    assert (refused.status_code, refused.json()["code"]) == (409, "version_not_activatable"), refused.text
    assert [one["code"] for one in refused.json()["details"]["reasons"]] == ["artifact_unknown"]
    await world.publish(**_changes("3.0.1"))  # brings the image
    assert (await world.admin.call("POST", path, {})).status_code == 200
