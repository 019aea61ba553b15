"""Tenants, projects, and who sees which."""

import pytest

from tests_support.people import World


async def test_a_tenant_slug_is_used_once_on_the_platform(world: World) -> None:
    await world.tenant("acme")
    answer = await world.admin.call("POST", "/tenants", json={"slug": "acme", "name": "Again"})
    assert (answer.status_code, answer.json()["code"]) == (409, "already_exists")


async def test_a_project_slug_is_used_once_in_a_tenant_and_freely_in_others(world: World) -> None:
    acme, other = await world.tenant("acme"), await world.tenant("other")
    await world.project(acme, "vision")
    await world.project(other, "vision")
    body = {"slug": "vision", "name": "Again"}
    answer = await world.admin.call("POST", f"/tenants/{acme}/projects", json=body)
    assert (answer.status_code, answer.json()["code"]) == (409, "already_exists")


async def test_people_list_the_tenant_and_the_projects_that_are_theirs(world: World) -> None:
    acme, other = await world.tenant("acme"), await world.tenant("other")
    vision, speech = await world.project(acme, "vision"), await world.project(acme, "speech")
    theirs = await world.project(other, "secret")
    boss = await world.person("boss@acme.test", acme, "tenant_admin")
    viewer = await world.person("viewer@acme.test", acme, "project_viewer", vision)
    idle = await world.person("idle@acme.test", acme)

    async def listed(person: object, path: str) -> list[str]:
        return [item["id"] for item in (await person.get(path)).json()["items"]]  # type: ignore[attr-defined]

    assert await listed(world.admin, "/tenants") == [other, acme]
    assert await listed(world.admin, "/projects") == [theirs, speech, vision]
    assert await listed(boss, "/tenants") == await listed(idle, "/tenants") == [acme]
    assert await listed(boss, "/projects") == [speech, vision]
    assert await listed(viewer, "/projects") == [vision]
    assert await listed(idle, "/projects") == []
    assert (await viewer.get(f"/tenants/{acme}/projects")).status_code == 403
    assert await listed(boss, f"/tenants/{acme}/projects") == [speech, vision]


async def test_a_new_project_has_no_members_and_the_tenants_admin_can_act_in_it(world: World) -> None:
    acme = await world.tenant("acme")
    boss = await world.person("boss@acme.test", acme, "tenant_admin")
    project = (await boss.made(f"/tenants/{acme}/projects", {"slug": "vision", "name": "Vision"}))["id"]
    assert (await boss.get(f"/projects/{project}/members")).json()["items"] == []
    shown = (await boss.get(f"/projects/{project}")).json()
    assert {"project_update", "project_member_set", "service_account_create"} <= set(shown["allowed_actions"])


async def test_an_update_says_before_and_after_in_the_audit_trail(world: World) -> None:
    acme = await world.tenant("acme")
    project = await world.project(acme, "vision")
    answer = await world.admin.call("PATCH", f"/projects/{project}", json={"name": "Sight"})
    assert (answer.json()["name"], answer.headers["etag"]) == ("Sight", '"2"')
    (row,) = await world.audit(action="project_update")
    assert row["details"] == {"before": {"name": "Vision"}, "after": {"name": "Sight"}}
    assert (row["tenant_id"], row["project_id"]) == (acme, project)


async def test_a_repeated_creation_with_the_same_key_makes_one_tenant(world: World) -> None:
    body, headers = {"slug": "acme", "name": "Acme"}, {"Idempotency-Key": "make-acme-once"}
    first = await world.admin.call("POST", "/tenants", json=body, headers=headers)
    again = await world.admin.call("POST", "/tenants", json=body, headers=headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert again.headers["idempotent-replayed"] == "true"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"slug": "Acme", "name": "A"},
        {"slug": "acme", "name": ""},
        {"slug": "acme", "name": "a\x00b"},
        {"slug": "acme", "name": "A", "extra": 1},
        {"slug": "acme", "name": 7},
    ],
)
async def test_a_malformed_tenant_is_refused(world: World, body: dict[str, object]) -> None:
    assert (await world.admin.call("POST", "/tenants", json=body)).status_code == 422
