"""An instance that serves several projects of its tenant: who may have it do so, where it may live, and what each sees."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx
import psycopg
import pytest

from gpuaas_server.instances import served_projects
from gpuaas_server.instances.locked_instance import lock_any_instance
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.projects.service import ProjectFacts
from tests_support.agents import Json, Person
from tests_support.apps import INPUTS, QUEUE, AppSite, Controller
from tests_support.select import select


@dataclass
class Shared:
    """The world with an app of tenant scope, and a second project with an allocation of its own."""

    world: AppSite
    other: str
    place: str  # the other project's allocation

    async def running(self, *served: str) -> str:
        world = self.world
        intent = [{"component_key": key, "allocation_id": world.allocations[0]} for key in ("head", "node")]
        body = {"app": "echo", "name": "shared", "placement_intent": intent, "inputs": INPUTS, **QUEUE}
        created = await world.admin.post(f"{world.path}/instances", body | {"served_projects": list(served)})
        await world.controller.carry_out(created["operation"]["id"])
        return str(created["instance"]["id"])

    async def serve(self, instance_id: str, project_id: str, by: Person | None = None) -> httpx.Response:
        path = f"{self.world.path}/instances/{instance_id}/served-projects/{project_id}"
        return await (by or self.world.admin).call("PUT", path)

    async def leave(self, instance_id: str, project_id: str) -> httpx.Response:
        path = f"{self.world.path}/instances/{instance_id}/served-projects/{project_id}"
        return await self.world.admin.call("DELETE", path)

    async def add(self, instance_id: str, allocation_id: str, by: Person | None = None) -> httpx.Response:
        path = f"{self.world.path}/instances/{instance_id}/member-operations"
        body = {"kind": "add", "component_key": "node", "allocation_ids": [allocation_id]}
        return await (by or self.world.admin).call("POST", path, body)

    async def member_there(self, instance_id: str) -> str:
        """A member on the other project's allocation, ready."""
        added = await self.add(instance_id, self.place)
        assert added.status_code == 201, added.text
        await self.world.controller.carry_out(added.json()["id"])
        return str(added.json()["member_id"])

    async def person(self, **roles: str) -> Person:
        """Somebody of the tenant with these roles: `home`, `other` or `tenant`."""
        world = self.world
        email, password = f"{new_id('usr')}@example.test", "correct horse battery staple"
        body = {"email": email, "name": "Somebody", "password": password}
        user = await world.admin.post(f"/tenants/{world.tenant_id}/users", body)
        for where, role in roles.items():
            project = {"home": world.project_id, "other": self.other}.get(where)
            path = f"/projects/{project}" if project else f"/tenants/{world.tenant_id}"
            answer = await world.admin.call("PUT", f"{path}/members/{user['id']}", {"role": role})
            assert answer.status_code == 200, answer.text
        grant = {"grant_type": "password", "username": email, "password": password}
        answer = await world.site.client.post("/auth/token", json=grant)
        assert answer.status_code == 200, answer.text
        return Person(world.site.client, answer.json()["access_token"])

    async def seen(self, path: str) -> Json:
        return await self.world.admin.get(f"/projects/{self.other}{path}")


@pytest.fixture
async def shared(world: AppSite) -> Shared:
    await world.publish(version="2.0.0", tenant_scope=True)
    other = await world.admin.post(f"/tenants/{world.tenant_id}/projects", {"slug": "serve", "name": "Serve"})
    made = await world.admin.post(f"/projects/{other['id']}/allocations", {"sku": "slice", "gpu_count": 1})
    await world.settle()
    return Shared(world, other["id"], made["items"][0]["id"])


async def _foreign_project(shared: Shared) -> str:
    tenant = await shared.world.admin.post("/tenants", {"slug": "rival", "name": "Rival"})
    project = await shared.world.admin.post(f"/tenants/{tenant['id']}/projects", {"slug": "secret", "name": "Secret"})
    return str(project["id"])


async def test_serving_a_project_reconciles_the_instance_and_tells_its_controller_whom_it_serves(
    shared: Shared,
) -> None:
    instance_id = await shared.running()
    before = (await shared.world.instance(instance_id))["generation"]
    answer = await shared.serve(instance_id, shared.other)
    assert answer.status_code == 200, answer.text
    assert answer.json()["operation"]["kind"] == "reconcile"
    assert [one["slug"] for one in answer.json()["instance"]["projects"]] == ["train", "serve"]
    assert answer.json()["instance"]["generation"] > before
    claimed = await shared.world.controller.does(answer.json()["operation"]["id"], "claim")
    told = [(one["project_id"], one["slug"], one["home"]) for one in claimed["instance"]["projects"]]
    assert told == [(shared.world.project_id, "train", True), (shared.other, "serve", False)]
    await shared.world.controller.does(answer.json()["operation"]["id"], "complete")
    again = await shared.serve(instance_id, shared.other)
    assert (again.status_code, again.json()["operation"]) == (200, None)  # as it was


async def test_what_is_offered_about_projects_is_what_is_accepted(shared: Shared) -> None:
    def offered(instance: Json) -> list[str]:
        return [one for one in instance["allowed_actions"] if one.startswith("served_project")]

    instance_id = await shared.running()
    assert offered(await shared.world.instance(instance_id)) == ["served_project_set"]
    serving = (await shared.serve(instance_id, shared.other)).json()
    assert offered(serving["instance"]) == []  # while it is reconciled
    assert (await shared.serve(instance_id, shared.other)).status_code == 409
    await shared.world.controller.carry_out(serving["operation"]["id"])
    assert offered(await shared.world.instance(instance_id)) == ["served_project_set", "served_project_remove"]
    member = await shared.person(home="project_member")
    assert offered(await member.get(f"{shared.world.path}/instances/{instance_id}")) == []
    plain, _ = await shared.world.created("plain", version="1.2.0", nodes=1, placement_intent=_elsewhere(shared))
    assert offered(await shared.world.instance(plain)) == []


def _elsewhere(shared: Shared) -> list[Json]:
    return [{"component_key": key, "allocation_id": shared.world.allocations[1]} for key in ("head", "node")]


async def test_a_project_is_served_only_by_who_administers_both(shared: Shared) -> None:
    instance_id = await shared.running()
    for roles, expected in (
        ({"home": "project_admin"}, (404, "not_found")),
        ({"home": "project_admin", "other": "project_viewer"}, (403, "forbidden")),
        ({"home": "project_member", "other": "project_admin"}, (403, "forbidden")),
        ({"other": "project_admin"}, (404, "not_found")),
    ):
        answer = await shared.serve(instance_id, shared.other, await shared.person(**roles))
        assert (answer.status_code, answer.json()["code"]) == expected, roles
    both = await shared.person(home="project_admin", other="project_admin")
    assert (await shared.serve(instance_id, shared.other, both)).status_code == 200


async def test_another_tenants_project_does_not_exist_for_anybody(shared: Shared) -> None:
    instance_id, foreign = await shared.running(), await _foreign_project(shared)
    admin = await shared.person(tenant="tenant_admin")
    for by in (admin, shared.world.admin):
        answer = await shared.serve(instance_id, foreign, by)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    async with shared.world.platform.database.connection(PLATFORM) as connection:
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            await connection.execute(
                "INSERT INTO instance_projects (instance_id, project_id, tenant_id, slug, home, since, added_by)"
                " VALUES (%s, %s, %s, 'secret', false, now(), 'usr_x')",
                (instance_id, foreign, shared.world.tenant_id),
            )


async def test_an_instance_that_older_code_made_has_its_home_all_the_same(shared: Shared) -> None:
    instance_id, older = await shared.running(), new_id("ins")
    async with shared.world.platform.database.connection(PLATFORM) as connection:
        await connection.execute(
            "INSERT INTO app_instances SELECT copy.* FROM app_instances i, jsonb_populate_record(i,"
            " jsonb_build_object('id', %s::text, 'name', 'older')) AS copy WHERE i.id = %s",
            (older, instance_id),
        )
        cursor = await select(
            connection, "SELECT project_id, home FROM instance_projects WHERE instance_id = %s", (older,)
        )
        assert [tuple(row.values()) for row in await cursor.fetchall()] == [(shared.world.project_id, True)]


async def test_an_app_without_tenant_scope_serves_its_own_project_only(shared: Shared) -> None:
    instance_id, operation_id = await shared.world.created("plain", version="1.2.0")
    await shared.world.controller.carry_out(operation_id)
    assert (await shared.serve(instance_id, shared.other)).json()["code"] == "one_project_only"
    refused = await shared.world.create("second", version="1.2.0", served_projects=[shared.other])
    assert refused.json()["code"] == "one_project_only"


async def test_one_that_serves_others_does_not_go_to_a_version_that_cannot(shared: Shared) -> None:
    instance_id = await shared.running(shared.other)
    await shared.world.publish(version="3.0.0")
    answer = await shared.world.ask(instance_id, "upgrade", version="3.0.0")
    assert answer.json()["code"] == "one_project_only"


async def test_an_upgrade_that_waited_sees_whom_the_instance_serves_since(shared: Shared) -> None:
    world = shared.world
    instance_id = await shared.running()
    await world.publish(version="3.0.0")
    async with world.platform.transaction(PLATFORM, system_actor("test")) as tx:
        locked = await lock_any_instance(tx, instance_id)
        assert locked is not None
        upgrade = asyncio.create_task(world.ask(instance_id, "upgrade", version="3.0.0"))
        await _somebody_waits(world)
        await served_projects.insert_served_projects(tx, locked.row, [ProjectFacts(shared.other, "serve", False)])
        locked.touch()
        await locked.store()
        tx.audited = True
    assert (await upgrade).json()["code"] == "one_project_only"


async def _somebody_waits(world: AppSite) -> None:
    async with world.platform.database.connection(PLATFORM) as connection, asyncio.timeout(60):
        while True:
            cursor = await select(
                connection,
                "SELECT 1 FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
                " WHERE NOT l.granted AND a.datname = current_database()",
            )
            if await cursor.fetchone() is not None:
                return
            await asyncio.sleep(0.01)


async def test_a_member_lives_on_a_served_projects_allocation_and_the_operation_opens_it(shared: Shared) -> None:
    world = shared.world
    instance_id = await shared.running()
    assert (await shared.add(instance_id, shared.place)).json()["code"] == "placement_refused"
    reconcile = (await shared.serve(instance_id, shared.other)).json()["operation"]["id"]
    await world.controller.carry_out(reconcile)
    added = (await shared.add(instance_id, shared.place)).json()
    claimed = await world.controller.does(added["id"], "claim")
    (mine,) = [one for one in claimed["members"] if one["concerned"]]
    assert (mine["allocation"]["id"], mine["allocation"]["project_id"]) == (shared.place, shared.other)
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGsH8GSEXK8n9U8oG9TMeXZt3HKAQtdzXWQP3LqmkcJF"
    access = await world.controller.send(added["id"], "machine-access", {"public_key": key})
    assert access.status_code == 201, access.text
    assert shared.place in [one["principal"] for one in access.json()["certificates"]]
    await world.controller.does(added["id"], "complete")
    (there,) = [one for one in await world.members(instance_id) if one["allocation_id"] == shared.place]
    assert there["allocation_project_id"] == shared.other
    trail = (await shared.seen("/audit?limit=100"))["items"]
    noted = {one["action"] for one in trail}
    assert {"served_project_set", "member_operation_create", "operation_machine_access"} <= noted


async def test_to_use_a_served_projects_allocation_one_needs_the_right_there_too(shared: Shared) -> None:
    instance_id = await shared.running(shared.other)
    home_only = await shared.person(home="project_admin", other="project_viewer")
    refused = await shared.add(instance_id, shared.place, home_only)
    assert refused.json()["details"]["refusals"][0]["code"] == "allocation_foreign"
    both = await shared.person(home="project_admin", other="project_admin")
    assert (await shared.add(instance_id, shared.place, both)).status_code == 201


async def test_those_who_are_served_see_the_instance_and_can_ask_nothing_of_it(shared: Shared) -> None:
    world = shared.world
    instance_id = await shared.running(shared.other)
    member_id = await shared.member_there(instance_id)
    viewer = await shared.person(other="project_admin")
    path = f"/projects/{shared.other}/instances"
    assert (await viewer.get(path))["items"] == []
    (listed,) = (await viewer.get(f"{path}?served=true"))["items"]
    shown = await viewer.get(f"{path}/{instance_id}")
    assert listed["id"] == shown["id"] == instance_id
    assert (listed["project_id"], listed["allowed_actions"], shown["allowed_actions"]) == (world.project_id, [], [])
    members = (await viewer.get(f"{path}/{instance_id}/members"))["items"]
    assert member_id in [one["id"] for one in members]
    assert [one["allowed_actions"] for one in members] == [[]] * len(members)
    assert (await viewer.get(f"{path}/{instance_id}/timeline"))["items"]
    assert (await viewer.get(f"{path}/{instance_id}/served-projects"))["items"][1]["project_id"] == shared.other
    for verb, body in (
        ("stop", {}),
        ("decommission", {}),
        ("member-operations", {"kind": "drain", "targets": [member_id]}),
    ):
        answer = await viewer.call("POST", f"{path}/{instance_id}/{verb}", body)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), verb
    assert (await viewer.call("GET", f"{world.path}/instances/{instance_id}")).status_code == 404


async def test_a_project_that_is_not_served_any_more_sees_nothing(shared: Shared) -> None:
    world = shared.world
    instance_id = await shared.running(shared.other)
    member_id = await shared.member_there(instance_id)
    refused = await shared.leave(instance_id, shared.other)
    assert (refused.status_code, refused.json()["code"]) == (409, "served_project_in_use")
    assert refused.json()["details"]["members"] == [{"id": member_id, "allocation_id": shared.place}]
    removing = await world.change_members(instance_id, "remove", targets=[member_id])
    await world.controller.carry_out(removing.json()["id"])
    await world.settle()
    left = await shared.leave(instance_id, shared.other)
    assert (left.status_code, left.json()["operation"]["kind"]) == (200, "reconcile")
    assert (await shared.seen("/instances?served=true"))["items"] == []
    gone = await world.admin.call("GET", f"/projects/{shared.other}/instances/{instance_id}")
    assert gone.status_code == 404
    kinds = [one["type"] for one in (await shared.seen("/events?limit=500"))["items"]]
    assert "instance.project_left" in kinds
    await world.controller.carry_out(left.json()["operation"]["id"])
    assert (await shared.leave(instance_id, shared.other)).json()["code"] == "not_found"


async def test_its_own_project_cannot_be_left(shared: Shared) -> None:
    instance_id = await shared.running()
    answer = await shared.leave(instance_id, shared.world.project_id)
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


async def test_the_release_of_a_served_projects_allocation_removes_the_member_first(shared: Shared) -> None:
    world = shared.world
    instance_id = await shared.running(shared.other)
    member_id = await shared.member_there(instance_id)
    member = await shared.person(other="project_member")
    released = await member.call("POST", f"/projects/{shared.other}/allocations/{shared.place}/release", {})
    assert released.status_code == 200, released.text
    await world.settle()
    (removal,) = await world.controller.work()
    assert removal["kind"] == "remove"
    assert (await shared.seen(f"/allocations/{shared.place}"))["state"] == "active"  # it waits for what runs there
    await world.controller.carry_out(removal["id"])
    await world.settle()
    assert (await shared.seen(f"/allocations/{shared.place}"))["state"] == "released"
    assert member_id not in [one["id"] for one in await world.members(instance_id)]
    (theirs,) = (await shared.seen(f"/receipts?allocation_id={shared.place}"))["items"]
    (ours,) = (await world.admin.get(f"{world.path}/receipts?instance_id={instance_id}"))["items"]
    assert theirs["id"] == ours["id"]  # the proof is for those whose host it was, and for those whose instance
    assert (theirs["project_id"], theirs["status"]) == (shared.other, "clean")
    for project in (shared.other, world.project_id):
        assert (await world.admin.get(f"/projects/{project}/receipts/{theirs['id']}"))["id"] == theirs["id"]
        kinds = [one["type"] for one in (await world.admin.get(f"/projects/{project}/events?limit=500"))["items"]]
        assert {"receipt.clean", "member.removed"} <= set(kinds)


async def test_usage_is_recorded_for_each_project_and_also_for_one_that_was_served(shared: Shared) -> None:
    world = shared.world
    instance_id = await shared.running(shared.other)
    now = datetime.now(UTC).isoformat()
    same = {"metric": "echoes", "unit": "count", "started_at": now, "ended_at": now}
    told = [
        {"source_key": "1", "project_id": world.project_id, "quantity": 2, **same},
        {"source_key": "2", "project_id": shared.other, "quantity": 5, **same},
    ]
    path = f"{world.path}/instances/{instance_id}/usage"
    assert (await world.controller.person.call("POST", path, {"records": told})).status_code == 200
    assert [one["quantity"] for one in (await world.admin.get(f"{world.path}/app-usage"))["items"]] == [2]
    assert [one["quantity"] for one in (await shared.seen("/app-usage"))["items"]] == [5]
    (event,) = [one for one in (await shared.seen("/events?limit=500"))["items"] if one["type"] == "app_usage.recorded"]
    assert event["data"]["quantities"] == {"echoes": 5}
    assert (await shared.leave(instance_id, shared.other)).status_code == 200
    late = {"source_key": "3", "project_id": shared.other, "quantity": 1, **same}
    assert (await world.controller.person.call("POST", path, {"records": [late]})).json()["recorded"] == 1
    assert len((await shared.seen("/app-usage"))["items"]) == 2


async def test_a_controller_of_one_project_gets_nothing_else_of_the_other(shared: Shared) -> None:
    controller: Controller = shared.world.controller
    await shared.running(shared.other)
    for path in (
        "/instances",
        "/allocations",
        "/controller/work",
        "/app-usage",
        "/receipts",
        f"/allocations/{shared.place}",
    ):
        answer = await controller.person.call("GET", f"/projects/{shared.other}{path}")
        assert answer.status_code == 404, path
