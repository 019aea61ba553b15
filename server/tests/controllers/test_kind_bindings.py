"""The platform's controller of a kind serves apps of every publisher, where tenants consent: so say policy and database."""

from dataclasses import replace

import pytest
from psycopg.errors import ForeignKeyViolation

from gpuaas_server.controllers.service import app_changed, leased_without_right
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import PLATFORM, Scope
from gpuaas_server.kernel.ids import new_id
from tests_support.agents import Json
from tests_support.apps import AppSite
from tests_support.manifests import version_text
from tests_support.platform_apps import offers, own_project
from tests_support.select import select
from tests_support.served import Served


@pytest.fixture
async def by_kind(world: AppSite) -> Served:
    """acme publishes a launchable app and runs nothing; the platform's own project has the controller of the kind."""
    async with world.platform.database.connection(PLATFORM) as connection:
        await connection.execute("UPDATE app_versions SET artifact_kind = 'launchable'")
    (app,) = (await world.admin.get("/apps"))["items"]
    visible = {"visibility": "public", "reason": "for everybody"}
    assert (await world.admin.call("PUT", f"/apps/{app['id']}/visibility", visible)).status_code == 200
    own = await own_project(world)
    own.controller = await own.another_controller("replica-1", apps=("containers",), name="containers")
    tenant, stranger = await own.another_tenant("globex"), await own.another_tenant("initech")
    body = {"artifact_kind": "launchable", "service_account_id": own.controller.account_id}
    made = await world.admin.post(f"{own.path}/controller-kind-bindings", body)
    await world.settle()
    return Served(own, tenant, stranger, made["id"])


async def seen(served: Served, tenant: AppSite, operation_id: str) -> tuple[int, int]:
    """What the controller is answered, and how many of the tenant's operations the database shows it."""
    answer = await served.controller.person.call("GET", f"{tenant.path}/operations/{operation_id}")
    scope = Scope(tenant.tenant_id, controller=served.controller.account_id)
    async with served.publisher.platform.database.connection(scope) as connection:
        cursor = await select(connection, "SELECT count(*) AS n FROM app_operations")
        return answer.status_code, int((await cursor.fetchone() or {})["n"])


async def test_it_serves_consenting_tenants_and_nobody_else(by_kind: Served) -> None:
    (offer,) = await offers(by_kind.tenant)
    assert (offer["slug"], offer["service_accounts"], offer["consent"]) == ("echo", ["containers"], None)
    assert (await by_kind.controller.person.get("/me"))["app_slugs"] == ["containers", "echo"]
    instance_id, operation_id = await by_kind.tenant.created(nodes=1)
    _, other_id = await by_kind.stranger.created("other", nodes=1)
    assert await by_kind.work() == []
    assert await seen(by_kind, by_kind.tenant, operation_id) == (404, 0)
    consent = await by_kind.consent()
    (item,) = await by_kind.work()
    assert (item["id"], item["tenant_id"]) == (operation_id, by_kind.tenant.tenant_id)
    assert await seen(by_kind, by_kind.stranger, other_id) == (404, 0)
    await by_kind.tenant.controller.carry_out(operation_id)
    assert (await by_kind.tenant.instance(instance_id))["status"] == "running"
    await by_kind.withdraw(consent)
    assert await seen(by_kind, by_kind.tenant, operation_id) == (404, 0)


async def test_a_launch_needs_its_heartbeat(by_kind: Served) -> None:
    await by_kind.consent()
    refused = await by_kind.tenant.create(when_no_controller="refuse")
    assert (refused.status_code, refused.json()["code"]) == (409, "no_controller")
    await by_kind.beat()
    entry = await by_kind.tenant.admin.get(f"{by_kind.tenant.path}/catalog/echo")
    assert (entry["controller"]["state"], entry["controller"]["served_by"]) == ("live", "containers")
    assert (await by_kind.tenant.create(when_no_controller="refuse")).status_code == 201


async def bind_own(world: AppSite) -> Json:
    """The publisher binds its own account; with the next settling the worker takes away what followed from the kind."""
    bound = {"app": "echo", "service_account_id": world.controller.account_id}
    binding: Json = await world.admin.post(f"{world.path}/controller-bindings", bound)
    return binding


async def reached(world: AppSite, tenant: AppSite) -> int:
    """How many rows of the tenant the database alone shows to the publisher's account, in its scope and across tenants."""
    account, found = world.controller.account_id, 0
    for tenant_id in (tenant.tenant_id, ""):
        async with world.platform.database.connection(Scope(tenant_id, controller=account)) as connection:
            for table in ("app_operations", "app_instances", "app_members", "app_instance_events"):
                cursor = await select(connection, f"SELECT count(*) AS n FROM {table}")
                found += int((await cursor.fetchone() or {})["n"])
    return found


async def test_a_binding_of_the_publisher_takes_its_place_without_the_consent(by_kind: Served, world: AppSite) -> None:
    await by_kind.consent()
    _, operation_id = await by_kind.tenant.created(nodes=1)
    await by_kind.tenant.controller.does(operation_id, "claim")
    binding = await bind_own(world)
    assert await reached(world, by_kind.tenant) == 0  # also before the worker has looked
    await world.settle()
    assert await seen(by_kind, by_kind.tenant, operation_id) == (404, 0)
    assert (await by_kind.tenant.operation(operation_id))["status"] == "pending"
    (offer,) = await offers(by_kind.tenant)
    assert (offer["service_accounts"], offer["consent"]) == (["controller"], None)  # the tenant is asked again
    entry = await by_kind.tenant.admin.get(f"{by_kind.tenant.path}/catalog/echo")
    assert entry["controller"]["state"] == "no_consent"
    assert await world.controller.work() == []
    claim = {"replica": "replica-1"}
    path = f"{by_kind.tenant.path}/operations/{operation_id}"
    assert (await world.controller.person.call("POST", f"{path}/claim", claim)).status_code == 404
    assert (await world.controller.person.call("GET", path)).status_code == 404
    assert await reached(world, by_kind.tenant) == 0
    await world.admin.call("DELETE", f"{world.path}/controller-bindings/{binding['id']}")
    await world.settle()
    assert [one["id"] for one in await by_kind.work()] == [operation_id]  # to this one the tenant has consented


async def test_a_lease_that_the_publisher_had_without_a_consent_ends(by_kind: Served, world: AppSite) -> None:
    """Leases are looked at by the same rule as rows."""
    await by_kind.consent()
    _, operation_id = await by_kind.tenant.created(nodes=1)
    await by_kind.tenant.controller.does(operation_id, "claim")
    await bind_own(world)
    account = world.controller.account_id
    async with world.platform.database.connection(PLATFORM) as connection:
        await connection.execute("UPDATE app_operations SET controller_id = %s", (account,))
        assert await leased_without_right(connection, account) == [operation_id]
    await by_kind.consent()
    async with world.platform.database.connection(PLATFORM) as connection:
        assert await leased_without_right(connection, account) == []


async def test_a_tenant_that_consents_again_is_served_by_the_publisher(by_kind: Served, world: AppSite) -> None:
    first = await by_kind.consent()
    _, operation_id = await by_kind.tenant.created(nodes=1)
    await bind_own(world)
    await world.settle()
    again = await by_kind.consent()
    assert again["id"] == first["id"]
    assert [one["id"] for one in await world.controller.work()] == [operation_id]
    assert await reached(world, by_kind.tenant) > 0
    path = f"{by_kind.tenant.path}/operations/{operation_id}/claim"
    answer = await world.controller.person.call("POST", path, {"replica": "replica-1"})
    assert answer.status_code == 200, answer.text


async def test_a_project_gets_no_further_in_its_tenant_by_the_consent_that_came_by_itself(
    by_kind: Served, world: AppSite
) -> None:
    """The worker consented for the tenant to the platform's controller; no administrator did to the project's account."""
    project = await world.admin.post(f"/tenants/{world.tenant_id}/projects", {"slug": "other", "name": "Other"})
    other = replace(world, project_id=project["id"], allocations=[])
    made = await world.admin.post(f"{other.path}/allocations", {"sku": "slice", "gpu_count": 1, "count": 1})
    other.allocations = [made["items"][0]["id"]] * 2
    await other.settle()
    _, operation_id = await other.created(nodes=1)
    assert [one["id"] for one in await by_kind.work()] == [operation_id]
    await bind_own(world)
    await world.settle()
    assert (await offers(world))[0]["consent"] is None
    assert await world.controller.work() == []
    assert await reached(world, other) == 0
    path = f"{other.path}/operations/{operation_id}"
    assert (await world.controller.person.call("GET", path)).status_code == 404
    assert (await world.controller.person.call("POST", f"{path}/claim", {"replica": "replica-1"})).status_code == 404
    await by_kind.consent(world)  # an administrator of the tenant decides
    assert [one["id"] for one in await world.controller.work()] == [operation_id]


async def controlled(by_kind: Served) -> list[str]:
    found: list[str] = (await by_kind.controller.person.get("/me"))["app_slugs"]
    return found


@pytest.mark.parametrize(("verb", "body"), [("activate", {}), ("canary", {"percent": 10})])
async def test_drafts_give_it_nothing_to_do(by_kind: Served, world: AppSite, verb: str, body: Json) -> None:
    manifest = {"manifest": version_text("1.0.0", slug="tool")}
    version = await world.admin.post(f"{world.path}/app-versions", manifest)
    async with world.platform.database.connection(PLATFORM) as connection:
        await connection.execute("UPDATE app_versions SET artifact_kind = 'launchable'")
    path = f"{by_kind.publisher.path}/controller-kind-bindings"
    assert (await world.admin.call("DELETE", f"{path}/{by_kind.binding_id}")).status_code == 204
    again = {"artifact_kind": "launchable", "service_account_id": by_kind.controller.account_id}
    await world.admin.post(path, again)
    await world.settle()
    assert await controlled(by_kind) == ["containers", "echo"]
    moved = f"{world.path}/apps/{version['app_id']}/versions/{version['id']}/{verb}"
    answer = await world.admin.call("POST", moved, body)
    assert answer.status_code == 200, answer.text
    await world.settle()
    assert await controlled(by_kind) == ["containers", "echo", "tool"]


async def test_its_end_is_effective_at_once(by_kind: Served) -> None:
    await by_kind.consent()
    _, operation_id = await by_kind.tenant.created(nodes=1)
    path = f"{by_kind.publisher.path}/controller-kind-bindings"
    assert (await by_kind.publisher.admin.call("DELETE", f"{path}/{by_kind.binding_id}")).status_code == 204
    assert await seen(by_kind, by_kind.tenant, operation_id) == (404, 0)
    assert await offers(by_kind.tenant) == []
    assert (await by_kind.controller.person.get("/me"))["app_slugs"] == ["containers"]


async def test_the_publishers_own_tenant_consents_by_default_and_can_withdraw(by_kind: Served, world: AppSite) -> None:
    (offer,) = await offers(world)
    assert offer["consent"]["given_with"] == "entitlement"
    _, operation_id = await world.created(nodes=1)
    assert [one["id"] for one in await by_kind.work()] == [operation_id]
    await by_kind.withdraw(offer["consent"])
    assert await seen(by_kind, world, operation_id) == (404, 0)
    path = f"{by_kind.publisher.path}/controller-kind-bindings"
    await world.admin.call("DELETE", f"{path}/{by_kind.binding_id}")
    again = {"artifact_kind": "launchable", "service_account_id": by_kind.controller.account_id}
    await world.admin.post(path, again)
    await world.settle()
    assert (await offers(world))[0]["consent"] is None  # what it decided stays


async def test_only_accounts_of_the_platforms_own_project_are_bound_to_a_kind(by_kind: Served, world: AppSite) -> None:
    body = {"artifact_kind": "launchable", "service_account_id": world.controller.account_id}
    refused = await world.admin.call("POST", f"{world.path}/controller-kind-bindings", body)
    assert refused.json()["code"] == "not_platform_project"
    own = await world.admin.call("POST", f"{by_kind.publisher.path}/controller-kind-bindings", body)
    assert own.status_code == 404  # an account of another project
    (derived,) = (await world.admin.get(f"{by_kind.publisher.path}/controller-bindings"))["items"]
    assert (derived["kind_binding_id"], derived["allowed_actions"]) == (by_kind.binding_id, [])
    gone = await world.admin.call("DELETE", f"{by_kind.publisher.path}/controller-bindings/{derived['id']}")
    assert gone.status_code == 404


async def test_a_binding_by_kind_names_the_account_of_its_kind_binding(by_kind: Served, world: AppSite) -> None:
    """So says the database: an id of a kind binding is no leave to join any account to any app."""
    forged = (
        "INSERT INTO controller_bindings (id, tenant_id, project_id, app_id, app_slug, service_account_id,"
        " service_account_name, created_by, created_at, kind_binding_id) SELECT %s, %s, %s, app_id, app_slug, %s,"
        " 'forged', created_by, created_at, kind_binding_id FROM controller_bindings WHERE kind_binding_id = %s"
    )
    place = (world.tenant_id, world.project_id, world.controller.account_id)
    async with world.platform.database.connection(PLATFORM) as connection:
        with pytest.raises(ForeignKeyViolation, match="controller_bindings_kind_binding"):
            await connection.execute(forged, (new_id("cbd"), *place, by_kind.binding_id))


@pytest.mark.parametrize("end", ["kind binding", "version"])
async def test_an_account_of_two_kinds_serves_by_the_other_when_one_ends(
    by_kind: Served, world: AppSite, end: str
) -> None:
    await world.publish(version="2.0.0")
    async with world.platform.database.connection(PLATFORM) as connection:
        await connection.execute("UPDATE app_versions SET artifact_kind = 'oci' WHERE version = '2.0.0'")
    path = f"{by_kind.publisher.path}/controller-kind-bindings"
    body = {"artifact_kind": "oci", "service_account_id": by_kind.controller.account_id}
    other = await world.admin.post(path, body)
    await world.settle()
    if end == "kind binding":
        assert (await world.admin.call("DELETE", f"{path}/{by_kind.binding_id}")).status_code == 204
    else:
        async with world.platform.transaction(PLATFORM, system_actor("test")) as tx:
            await tx.connection.execute("UPDATE app_versions SET status = 'retired' WHERE artifact_kind = 'launchable'")
            (app,) = (await world.admin.get("/apps"))["items"]
            await app_changed(tx, app["id"])
    await world.settle()
    (derived,) = (await world.admin.get(f"{by_kind.publisher.path}/controller-bindings"))["items"]
    assert (derived["app_slug"], derived["kind_binding_id"]) == ("echo", other["id"])
    assert await controlled(by_kind) == ["containers", "echo"]
