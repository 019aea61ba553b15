"""Who asks for a deletion is told what is still there; until the date nothing works in the place, and all can be undone."""

from datetime import datetime, timedelta

import pytest

from gpuaas_server.kernel.settings import Settings
from tests_support.agents import Json, Person
from tests_support.apps import AppSite
from tests_support.deletable import count_app_artifact, empty, furnish, lines, pass_grace
from tests_support.projects import PASSWORD


async def refusal(world: AppSite, path: str) -> tuple[str, str]:
    answer = await world.admin.call("DELETE", path)
    assert answer.status_code == 409, answer.text
    return answer.json()["code"], answer.json()["detail"]


async def chief(world: AppSite) -> Person:
    """An administrator of the tenant."""
    body = {"email": "chief@acme.test", "name": "Chief", "password": PASSWORD}
    user = await world.admin.post(f"/tenants/{world.tenant_id}/users", body)
    await world.admin.call("PUT", f"/tenants/{world.tenant_id}/members/{user['id']}", {"role": "tenant_admin"})
    return Person(world.site.client, (await sign_in(world))["access_token"])


async def sign_in(world: AppSite, password: str = PASSWORD) -> Json:
    grant = {"grant_type": "password", "username": "chief@acme.test", "password": password}
    found: Json = (await world.site.client.post("/auth/token", json=grant)).json()
    return found


@pytest.mark.parametrize("scope", ["tenant", "project"])
async def test_each_kind_of_leftover_is_named(world: AppSite, scope: str) -> None:
    path = f"/tenants/{world.tenant_id}" if scope == "tenant" else world.path
    instance_id, operation_id = await world.created()
    code, said = await refusal(world, path)
    assert code == "not_empty"
    assert said.startswith(f"The {scope} is not empty: 4 allocation(s) that are not released")
    assert f"1 instance(s) that are not decommissioned ({instance_id})" in said
    assert f"1 operation(s) that have not ended ({operation_id})" in said
    await world.controller.carry_out(operation_id)
    await empty(world, instance_id)
    assert (await world.admin.call("DELETE", path)).status_code == 202


async def test_a_release_that_is_not_proven_keeps_the_tenant(world: AppSite) -> None:
    for allocation in world.allocations:
        await world.admin.post(f"{world.path}/allocations/{allocation}/release", {"reason": "the end"})
    await world.settle(answering=False)
    for _ in range(60):  # the host answers, and never proves the wipe
        for task in await world.host.poll():
            clean = {"clean": False, "checks": [{"name": "disk", "ok": False, "detail": "not empty"}]}
            await world.host.report(task, result=clean if task["kind"] == "verify_wipe" else {})
        await world.settle(answering=False)
    states = await lines(world.platform, "SELECT DISTINCT state AS line FROM allocations")
    assert states == ["release_failed"]
    code, said = await refusal(world, f"/tenants/{world.tenant_id}")
    assert code == "not_empty"
    assert "4 release(s) that are not proven" in said


async def test_an_app_that_another_tenant_runs_keeps_its_publisher(world: AppSite) -> None:
    """The other tenant's instance is counted, never named."""
    for allocation in world.allocations:
        await world.admin.post(f"{world.path}/allocations/{allocation}/release", {"reason": "the end"})
    await world.settle()
    version = await lines(world.platform, "SELECT id AS line FROM app_versions")
    other = (await world.admin.post("/tenants", {"slug": "other", "name": "Other"}))["id"]
    project = (await world.admin.post(f"/tenants/{other}/projects", {"slug": "run", "name": "Run"}))["id"]
    made = await lines(
        world.platform,
        "INSERT INTO app_instances (id, tenant_id, project_id, name, app_id, app_slug, version_id, version, manifest, inputs,"
        " placement_intent, status, status_since, health, health_since, health_reasons, created_by, correlation_id,"
        " created_at) VALUES ('ins_theirs', %s, %s, 'x', 'app_x', 'echo', %s, '1', '{}', '{}', '[]', 'running', now(),"
        " 'healthy', now(), '[]', 'usr_x', 'correlation', now()) RETURNING id AS line",
        other,
        project,
        version[0],
    )
    boss = await chief(world)
    for who, path in ((world.admin, f"/tenants/{world.tenant_id}"), (boss, world.path)):
        said = (await who.call("DELETE", path)).json()
        assert said["code"] == "not_empty"
        assert f"1 version(s) of its apps that instances elsewhere run ({version[0]})" in said["detail"]
        assert made[0] not in said["detail"]


@pytest.fixture
async def emptied(world: AppSite) -> AppSite:
    await count_app_artifact(world)
    for allocation in world.allocations:
        await world.admin.post(f"{world.path}/allocations/{allocation}/release", {"reason": "the end"})
    await world.settle()
    return world


async def test_people_and_programs_of_a_deleting_tenant_are_out_at_once_and_back_after_undelete(
    emptied: AppSite,
) -> None:
    world, boss = emptied, await chief(emptied)
    refresh = (await sign_in(world))["refresh_token"]
    renewal = {"grant_type": "refresh_token", "refresh_token": refresh}
    deleting = (await world.admin.call("DELETE", f"/tenants/{world.tenant_id}")).json()
    assert datetime.fromisoformat(deleting["delete_after"]) - world.clock() > timedelta(days=6, hours=23)
    assert (await boss.call("GET", "/me")).json()["code"] == "deletion_scheduled"
    assert (await sign_in(world))["code"] == "deletion_scheduled"
    assert (await sign_in(world, "wrong password"))["code"] == "bad_credentials"
    assert (await world.site.client.post("/auth/token", json=renewal)).json()["code"] == "session_ended"
    assert (await world.controller.person.call("GET", "/me")).json()["code"] == "deletion_scheduled"
    assert deleting["allowed_actions"] == ["tenant_undelete", "tenant_export"]
    undone = await world.admin.post(f"/tenants/{world.tenant_id}/undelete")
    assert undone["delete_after"] is None
    assert "tenant_delete" in undone["allowed_actions"]
    assert "tenant_undelete" not in undone["allowed_actions"]
    assert (await boss.call("GET", "/me")).status_code == 200
    assert (await world.controller.person.call("GET", "/me")).status_code == 200
    assert "access_token" in (await world.site.client.post("/auth/token", json=renewal)).json()


async def test_nothing_is_made_in_a_deleting_tenant_not_even_by_the_platform(emptied: AppSite) -> None:
    world = emptied
    await world.admin.call("DELETE", f"/tenants/{world.tenant_id}")
    assert (await world.admin.get(f"/tenants/{world.tenant_id}"))["delete_after"] is not None
    body = {"slug": "more", "name": "More"}
    refused = await world.admin.call("POST", f"/tenants/{world.tenant_id}/projects", body)
    assert (refused.status_code, refused.json()["code"]) == (403, "deletion_scheduled")
    inside = await world.admin.call("POST", f"{world.path}/allocations", {"sku": "slice", "gpu_count": 1})
    assert (inside.status_code, inside.json()["code"]) == (403, "deletion_scheduled")
    assert (await world.admin.get(world.path))["delete_after"] is None  # it is the tenant's, not its own


async def test_asking_again_keeps_the_date_and_an_undone_deletion_never_purges(emptied: AppSite) -> None:
    world = emptied
    first = (await world.admin.call("DELETE", f"/tenants/{world.tenant_id}")).json()
    world.clock.ahead += timedelta(minutes=5)
    again = await world.admin.call("DELETE", f"/tenants/{world.tenant_id}")
    assert (again.status_code, again.json()["delete_after"]) == (202, first["delete_after"])
    await world.admin.post(f"/tenants/{world.tenant_id}/undelete")
    twice = await world.admin.call("POST", f"/tenants/{world.tenant_id}/undelete")
    assert (twice.status_code, twice.json()["code"]) == (409, "conflict")
    await pass_grace(world)
    assert (await world.admin.get(f"/tenants/{world.tenant_id}"))["slug"] == "acme"
    assert await lines(world.platform, "SELECT state AS line FROM deletions") == ["undone"]
    actions = "SELECT action AS line FROM audit_records WHERE action ~ '^tenant_(un)?delete$' ORDER BY id"
    assert await lines(world.platform, actions) == ["tenant_delete", "tenant_undelete"]


async def test_once_the_purge_has_begun_it_cannot_be_undone(emptied: AppSite) -> None:
    world = emptied
    await world.admin.call("DELETE", f"/tenants/{world.tenant_id}")
    await lines(world.platform, "UPDATE deletions SET state = 'purging' RETURNING id AS line")
    refused = await world.admin.call("POST", f"/tenants/{world.tenant_id}/undelete")
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")


async def test_what_slipped_in_is_never_purged_and_the_purge_goes_on_when_it_has_ended(world: AppSite) -> None:
    """A creation that began before, and was committed after the deletion was asked for."""
    made = await furnish(world)
    await empty(world, made.instance_id)
    await world.admin.call("DELETE", f"/tenants/{world.tenant_id}")
    (late,) = await lines(
        world.platform,
        "UPDATE allocations SET ended_at = NULL, state = 'active' WHERE id = %s RETURNING id AS line",
        world.allocations[0],
    )
    with pytest.raises(AssertionError, match="never ends"):
        await pass_grace(world)
    query = "SELECT state AS line FROM allocations WHERE id = %s AND purged_at IS NULL"
    assert await lines(world.platform, query, late) == ["active"]
    end = "UPDATE allocations SET ended_at = %s, state = 'released' WHERE id = %s RETURNING id AS line"
    await lines(world.platform, end, world.clock(), late)
    await pass_grace(world)
    assert await lines(world.platform, "SELECT id AS line FROM tenants WHERE id = %s", world.tenant_id) == []


async def test_without_a_grace_period_the_purge_begins_at_once(emptied: AppSite) -> None:
    emptied.platform.settings = emptied.platform.settings.model_copy(update={"deletion_grace_days": 0})
    await emptied.admin.call("DELETE", f"/tenants/{emptied.tenant_id}")
    await pass_grace(emptied, days=0)
    assert (await emptied.admin.call("GET", f"/tenants/{emptied.tenant_id}")).status_code == 404


@pytest.mark.parametrize("days", [-1, 366])
def test_the_grace_period_is_bounded(days: int) -> None:
    with pytest.raises(ValueError, match="deletion_grace_days"):
        Settings(deletion_grace_days=days)
