"""The platform's controller of a kind serves apps of every publisher, where tenants consent: so say policy and database."""

import pytest

from gpuaas_server.kernel.database import PLATFORM, Scope
from tests_support.apps import AppSite
from tests_support.platform_apps import offers, own_project
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
        cursor = await connection.execute("SELECT count(*) AS n FROM app_operations")
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


async def test_a_binding_of_the_publisher_takes_its_place(by_kind: Served, world: AppSite) -> None:
    await by_kind.consent()
    _, operation_id = await by_kind.tenant.created(nodes=1)
    await by_kind.tenant.controller.does(operation_id, "claim")
    bound = {"app": "echo", "service_account_id": world.controller.account_id}
    binding = await world.admin.post(f"{world.path}/controller-bindings", bound)
    await world.settle()
    assert await seen(by_kind, by_kind.tenant, operation_id) == (404, 0)
    assert (await by_kind.tenant.operation(operation_id))["status"] == "pending"  # offered to the publisher's
    assert [one["service_accounts"] for one in await offers(by_kind.tenant)] == [["controller"]]
    await world.admin.call("DELETE", f"{world.path}/controller-bindings/{binding['id']}")
    await world.settle()
    assert [one["id"] for one in await by_kind.work()] == [operation_id]


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
