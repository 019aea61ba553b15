"""Where an app could live, before anybody asks for it: the reasons are the compatibility check's own."""

from typing import Any

from gpuaas_server.kernel.database import PLATFORM
from tests_support.apps import AppSite


async def candidates(world: AppSite, *chosen: tuple[str, str], **more: str) -> dict[str, Any]:
    query = "&".join(["app=echo", *(f"{name}={value}" for name, value in more.items())])
    query += "".join(f"&chosen={key}:{allocation_id}" for key, allocation_id in chosen)
    answer: dict[str, Any] = await world.admin.get(f"{world.path}/placements?{query}")
    return answer


def codes(answer: dict[str, Any], allocation_id: str, component_key: str) -> set[str]:
    place = next(one for one in answer["items"] if one["id"] == allocation_id)
    component = next(one for one in place["components"] if one["component_key"] == component_key)
    return {refusal["code"] for refusal in component["refusals"]}


async def test_an_allocation_that_will_do_has_no_reason_against_it(world: AppSite) -> None:
    answer = await candidates(world)
    assert {one["id"] for one in answer["items"]} == set(world.allocations)
    assert codes(answer, world.allocations[0], "head") == set()
    assert {one["code"] for one in answer["refusals"]} >= {"component_count_low"}


async def test_what_was_chosen_counts_and_fits_as_a_launch_would_say(world: AppSite) -> None:
    first, second = world.allocations[:2]
    chosen = [("head", first), ("node", second)]
    answer = await candidates(world, *chosen)
    assert answer["refusals"] == []
    assert codes(answer, second, "head") == set()  # it would take the head's place, of which there is one
    assert codes(answer, second, "node") == set()  # what is chosen is no reason against itself
    intent = [{"component_key": key, "allocation_id": one} for key, one in chosen]
    assert (await world.create(placement_intent=intent)).status_code == 201


async def test_an_allocation_with_another_instance_on_it_says_whose(world: AppSite) -> None:
    assert (await world.create("squatter")).status_code == 201
    answer = await candidates(world)
    place = next(one for one in answer["items"] if one["id"] == world.allocations[0])
    reasons = [refusal for component in place["components"] for refusal in component["refusals"]]
    assert {one["code"] for one in reasons} == {"allocation_busy"}
    assert "squatter" in reasons[0]["message"]


async def test_an_allocation_of_nobody_that_one_sees_is_refused_and_not_described(world: AppSite) -> None:
    stranger = "alc_00000000000000000000000000"
    answer = await candidates(world, ("head", stranger))
    assert "allocation_foreign" in {one["code"] for one in answer["refusals"]}
    assert stranger not in {one["id"] for one in answer["items"]}


async def test_an_unknown_app_has_no_candidates(world: AppSite) -> None:
    assert (await world.admin.call("GET", f"{world.path}/placements?app=no-such-app")).status_code == 404


async def test_a_draft_has_candidates_for_its_publisher_before_it_is_on_trial(world: AppSite) -> None:
    (app,) = (await world.admin.get(f"{world.path}/apps"))["items"]
    (version,) = (await world.admin.get(f"{world.path}/apps/{app['id']}/versions"))["items"]
    async with world.platform.database.connection(PLATFORM) as connection, connection.transaction():
        await connection.execute("UPDATE app_versions SET status = 'draft' WHERE id = %s", (version["id"],))
    answer = await candidates(world, version=version["version"])
    assert codes(answer, world.allocations[0], "head") == set()
    after = await world.admin.get(f"{world.path}/apps/{app['id']}/versions/{version['id']}")
    assert after["trial_since"] is None, "to look is not to put it on trial"
    assert (await world.create(version=version["version"])).json()["code"] == "not_launchable"
    other = await world.admin.post(f"/tenants/{world.tenant_id}/projects", {"slug": "other", "name": "Other"})
    refused = await world.admin.call("GET", f"/projects/{other['id']}/placements?app=echo&version={version['version']}")
    assert refused.json()["details"]["reasons"][0]["code"] == "version_draft"
