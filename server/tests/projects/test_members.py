"""Members: one role for each user and place, within the tenant, and never the last administrator gone."""

import psycopg
import pytest

from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import new_id
from tests_support.people import World


async def test_a_second_role_in_a_place_replaces_the_first(world: World) -> None:
    acme = await world.tenant("acme")
    project = await world.project(acme, "vision")
    ann = await world.person("ann@acme.test", acme, "project_viewer", project)
    await world.give(ann.id, "project_admin", acme, project)
    (member,) = (await world.admin.get(f"/projects/{project}/members")).json()["items"]
    assert (member["id"], member["role"], member["generation"]) == (ann.id, "project_admin", 2)
    rows = await world.audit(action="project_member_set")
    assert rows[0]["details"] == {"before": "project_viewer", "after": "project_admin"}


async def test_a_project_admin_appoints_members_but_no_tenant_admin(world: World) -> None:
    acme = await world.tenant("acme")
    project = await world.project(acme, "vision")
    lead = await world.person("lead@acme.test", acme, "project_admin", project)
    ann = await world.person("ann@acme.test", acme)
    path = f"/projects/{project}/members/{ann.id}"
    assert (await lead.call("PUT", path, json={"role": "project_member"})).status_code == 200
    assert (await lead.call("PUT", path, json={"role": "tenant_admin"})).status_code == 422
    answer = await lead.call("PUT", f"/tenants/{acme}/members/{lead.id}", json={"role": "tenant_admin"})
    assert answer.status_code == 403
    assert (await lead.call("DELETE", path)).status_code == 204
    assert (await lead.call("DELETE", path)).status_code == 404


async def test_only_users_of_the_tenant_can_be_members(world: World) -> None:
    acme, other = await world.tenant("acme"), await world.tenant("other")
    project = await world.project(acme, "vision")
    bob = await world.person("bob@other.test", other)
    for user_id in (bob.id, world.admin.id, new_id("usr")):
        path = f"/projects/{project}/members/{user_id}"
        assert (await world.admin.call("PUT", path, json={"role": "project_viewer"})).status_code == 404


async def test_the_database_itself_refuses_a_role_in_another_tenant(world: World) -> None:
    acme, other = await world.tenant("acme"), await world.tenant("other")
    project = await world.project(acme, "vision")
    bob = await world.person("bob@other.test", other)
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        async with world.platform.database.connection(PLATFORM) as connection:
            await connection.execute(
                "INSERT INTO role_bindings (id, user_id, role, tenant_id, project_id, created_at)"
                " VALUES (%s, %s, 'project_viewer', %s, %s, now())",
                (new_id("rbd"), bob.id, acme, project),
            )


async def test_the_last_tenant_admin_cannot_go(world: World) -> None:
    acme = await world.tenant("acme")
    boss = await world.person("boss@acme.test", acme, "tenant_admin")
    path = f"/tenants/{acme}/members/{boss.id}"
    assert (await boss.call("DELETE", path)).json()["code"] == "last_admin"
    await world.person("second@acme.test", acme, "tenant_admin")
    assert (await boss.call("DELETE", path)).status_code == 204


async def test_a_removal_prepared_against_an_older_generation_is_refused(world: World) -> None:
    acme = await world.tenant("acme")
    project = await world.project(acme, "vision")
    ann = await world.person("ann@acme.test", acme, "project_viewer", project)
    await world.give(ann.id, "project_member", acme, project)
    path = f"/projects/{project}/members/{ann.id}"
    assert (await world.admin.call("DELETE", path, headers={"If-Match": '"1"'})).status_code == 412
