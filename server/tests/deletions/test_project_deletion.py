"""A project is deleted within its tenant, in the same way: by the tenant's administrators, and without its neighbours."""

import pytest

from gpuaas_server.deletions.inventory import KEPT
from tests_support.agents import Person
from tests_support.apps import AppSite
from tests_support.deletable import Furnished, empty, furnish, lines, pass_grace, rows_of


@pytest.fixture
async def furnished(world: AppSite) -> Furnished:
    made = await furnish(world)
    await empty(world, made.instance_id)
    return made


async def neighbour(world: AppSite) -> str:
    admin = world.admin
    project = (await admin.post(f"/tenants/{world.tenant_id}/projects", {"slug": "beside", "name": "Beside"}))["id"]
    await admin.post(f"/projects/{project}/service-accounts", {"name": "robot", "scopes": ["projects:read"]})
    await admin.post(f"/projects/{project}/access-credentials", {"name": "deploy", "kind": "ssh_key"})
    await admin.call("PUT", f"/projects/{project}/quota", {"gpu_limit": 5})
    return str(project)


async def test_a_purged_project_leaves_its_tenant_and_neighbours_as_they_were(
    world: AppSite, furnished: Furnished
) -> None:
    beside = await neighbour(world)
    rows = await rows_of(world.platform, "project_id", beside)
    people = await lines(world.platform, "SELECT email AS line FROM users WHERE tenant_id = %s", world.tenant_id)
    assert (await furnished.person.call("DELETE", world.path)).status_code == 202
    await pass_grace(world)
    kept = set(KEPT) - {"events", "node_tasks"}  # of projects no event stays, and tasks of hosts name none
    assert set(await rows_of(world.platform, "project_id", world.project_id)) == kept
    assert await rows_of(world.platform, "project_id", beside) == rows
    assert (
        await lines(world.platform, "SELECT email AS line FROM users WHERE tenant_id = %s", world.tenant_id) == people
    )
    used = (
        "SELECT concat_ws(' ', gpus_used, artifacts_used, artifact_bytes_used) AS line FROM quotas WHERE scope_id = %s"
    )
    assert await lines(world.platform, used, world.tenant_id) == ["0 0 0"]
    again = {"slug": "train", "name": "Train"}
    assert (await furnished.person.post(f"/tenants/{world.tenant_id}/projects", again))["id"] != world.project_id


async def test_its_people_may_read_and_its_programs_are_out_until_it_is_undone(
    world: AppSite, furnished: Furnished
) -> None:
    ann = furnished.person
    await ann.call("DELETE", world.path)
    assert (await ann.get(world.path))["delete_after"] is not None
    refused = await ann.call("POST", f"{world.path}/service-accounts", {"name": "new", "scopes": ["projects:read"]})
    assert (refused.status_code, refused.json()["code"]) == (403, "deletion_scheduled")
    assert (await world.controller.person.call("GET", "/me")).json()["code"] == "deletion_scheduled"
    secret = {"client_id": furnished.account_id, "client_secret": furnished.account_secret}
    signed = await world.site.client.post("/auth/token", json={"grant_type": "client_credentials", **secret})
    assert signed.json()["code"] == "deletion_scheduled"
    await ann.post(f"{world.path}/undelete")
    assert (await ann.get(world.path))["delete_after"] is None
    assert (await world.controller.person.call("GET", "/me")).status_code == 200


async def test_only_administrators_of_the_tenant_delete_a_project(world: AppSite, furnished: Furnished) -> None:
    body = {"email": "pat@acme.test", "name": "Pat", "password": furnished.password}
    user = await world.admin.post(f"/tenants/{world.tenant_id}/users", body)
    await world.admin.call("PUT", f"{world.path}/members/{user['id']}", {"role": "project_admin"})
    grant = {"grant_type": "password", "username": "pat@acme.test", "password": furnished.password}
    pat = Person(world.site.client, (await world.site.client.post("/auth/token", json=grant)).json()["access_token"])
    for method, path in (("DELETE", world.path), ("POST", f"{world.path}/undelete"), ("GET", f"{world.path}/export")):
        assert (await pat.call(method, path)).json()["code"] == "forbidden"
    assert (await furnished.person.call("DELETE", f"/tenants/{world.tenant_id}")).json()["code"] == "forbidden"


async def test_a_project_whose_tenant_goes_first_goes_with_it(world: AppSite, furnished: Furnished) -> None:
    await furnished.person.call("DELETE", world.path)
    await world.admin.call("DELETE", f"/tenants/{world.tenant_id}")
    await pass_grace(world)
    assert await lines(world.platform, "SELECT state AS line FROM deletions") == ["purged", "purged"]
    assert await lines(world.platform, "SELECT id AS line FROM work_items WHERE kind = 'deletion'") == []


async def test_a_project_that_another_serves_is_not_empty_and_its_history_there_stays(
    world: AppSite, furnished: Furnished
) -> None:
    beside = await neighbour(world)
    home = "INSERT INTO instance_projects (instance_id, project_id, tenant_id, slug, home, since, added_by) VALUES"
    theirs = "('ins_theirs', %s, %s, 'x', 'app_x', 'echo', 'apv_x', '1', '{}', '{}', '[]', 'running', now(), 'healthy',"
    await lines(
        world.platform,
        "INSERT INTO app_instances (id, project_id, tenant_id, name, app_id, app_slug, version_id, version, manifest, inputs,"
        " placement_intent, status, status_since, health, health_since, health_reasons, created_by, correlation_id,"
        f" created_at) VALUES {theirs} now(), '[]', 'usr_x', 'correlation', now()) RETURNING id AS line",
        beside,
        world.tenant_id,
    )
    await lines(
        world.platform,
        f"{home} ('ins_theirs', %s, %s, 'train', false, now(), 'usr_x') RETURNING instance_id AS line",
        world.project_id,
        world.tenant_id,
    )
    refused = (await world.admin.call("DELETE", world.path)).json()
    assert "1 instance(s) of other projects that serve it (ins_theirs)" in refused["detail"]
    gone = (
        "INSERT INTO app_members (id, tenant_id, project_id, instance_id, ordinal, component_key, allocation_id,"
        " place_project_id, node_id, status, status_since, correlation_id, created_at, removed_at) VALUES ('mem_theirs', %s,"
        " %s, 'ins_theirs', 0, 'node', 'alc_x', %s, 'nod_x', 'removed', now(), 'c', now(), now()) RETURNING id AS line"
    )
    await lines(world.platform, gone, world.tenant_id, beside, world.project_id)
    await lines(
        world.platform,
        "UPDATE instance_projects SET until = now() WHERE NOT home RETURNING instance_id AS line",
    )
    assert (await world.admin.call("DELETE", world.path)).status_code == 202
    await pass_grace(world)
    assert await lines(world.platform, "SELECT id AS line FROM app_members WHERE project_id = %s", beside) == [
        "mem_theirs"
    ]
    assert await lines(world.platform, "SELECT id AS line FROM projects WHERE tenant_id = %s", world.tenant_id) == [
        beside
    ]
