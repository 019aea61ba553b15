"""A bound controller sees operations of its app in tenants that consent, and nothing else: so say policy and database."""

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from psycopg.errors import InsufficientPrivilege

from gpuaas_server.identity.consent_permissions import OWN_PROJECT_ONLY, PERMISSION_OF_ACTION
from gpuaas_server.identity.policy import RULES
from gpuaas_server.kernel.database import PLATFORM, Scope
from gpuaas_server.kernel.ids import new_id
from tests_support.apps import AppSite
from tests_support.select import select
from tests_support.served import Served

RECIPIENT = base64.b64encode(X25519PrivateKey.generate().public_key().public_bytes_raw()).decode()
PUBLIC_KEY = Ed25519PrivateKey.generate().public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
WALLED = ("app_operations", "app_instances", "app_members", "app_instance_events", "instance_secrets", "secrets")
HIDDEN = ("users", "role_bindings", "service_accounts", "service_account_keys", "ssh_keys", "access_credentials")


SECRET = {"key": "cluster-key", "source": "generated"}


async def _running_with_secret(tenant: AppSite, number: int = 0) -> str:
    place = _one(tenant, number)
    instance_id, operation_id = await tenant.created(f"i-{number}", version="1.5.0", placement_intent=place)
    await tenant.controller.does(operation_id, "claim")
    await tenant.controller.does(operation_id, "secrets", recipient_key=RECIPIENT)
    await tenant.controller.does(operation_id, "complete")
    return instance_id


async def _count(world: AppSite, scope: Scope, table: str) -> int:
    async with world.platform.database.connection(scope) as connection:
        cursor = await select(connection, f"SELECT count(*) AS n FROM {table}")
        return int((await cursor.fetchone() or {})["n"])


async def _attempts(served: Served, tenant: AppSite, instance_id: str, operation_id: str) -> AsyncIterator[Any]:
    """Everything that a controller could ask about an instance and its operation."""
    person = served.controller.person
    one = f"{tenant.path}/instances/{instance_id}"
    for path in (f"{tenant.path}/instances", f"{tenant.path}/operations", one, f"{one}/members", f"{one}/timeline"):
        yield await person.call("GET", path)
    yield await person.call("GET", f"{tenant.path}/operations/{operation_id}")
    lease = served.controller.token or f"lease_{'A' * 43}"
    for verb, body in {
        "claim": {"replica": "replica-1"},
        "report": {"lease_token": lease},
        "complete": {"lease_token": lease},
        "fail": {"lease_token": lease, "failure": {"code": "no_luck", "message": "No."}},
        "give-back": {"lease_token": lease},
        "machine-access": {"lease_token": lease, "public_key": PUBLIC_KEY},
        "runtime-secrets": {"lease_token": lease, "recipient_key": RECIPIENT},
    }.items():
        yield await person.call("POST", f"{tenant.path}/operations/{operation_id}/{verb}", body)
    yield await person.call("PUT", f"{one}/health", {"status": "healthy", "generation": 1})
    usage = {"source_key": "a/1", "project_id": tenant.project_id, "metric": "requests", "unit": "count", "quantity": 1}
    when = {"started_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T01:00:00Z"}
    yield await person.call("POST", f"{one}/usage", {"records": [usage | when]})


async def _refused_everywhere(served: Served, tenant: AppSite, instance_id: str, operation_id: str) -> None:
    """A list may be empty instead: where the gate does not know yet, the database shows nothing."""
    async for answer in _attempts(served, tenant, instance_id, operation_id):
        found = answer.json()
        assert found.get("items") == [] or found.get("code") == "not_found", (answer.request.url, answer.text)


async def test_without_consent_a_tenant_is_hidden_from_the_controller(served: Served) -> None:
    instance_id, operation_id = await served.stranger.created(nodes=1)
    await served.consent(served.tenant)
    assert await served.work() == []
    await _refused_everywhere(served, served.stranger, instance_id, operation_id)
    assert (await served.stranger.operation(operation_id))["status"] == "pending"


async def test_with_consent_the_whole_cycle_works(served: Served) -> None:
    await served.consent()
    instance_id, operation_id = await served.tenant.created(nodes=1)
    (item,) = await served.work()
    place = (item["id"], item["project_id"], item["tenant_id"])
    assert place == (operation_id, served.tenant.project_id, served.tenant.tenant_id)
    controller = served.tenant.controller
    await controller.does(operation_id, "claim")
    access = await controller.send(operation_id, "machine-access", {"public_key": PUBLIC_KEY})
    assert access.status_code == 201
    assert {one["principal"] for one in access.json()["certificates"]} == set(served.tenant.allocations[:1])
    await controller.does(operation_id, "report", steps=[{"name": "install", "status": "succeeded"}])
    await controller.does(operation_id, "complete", runtime={"address": "10.0.0.9"})
    assert (await served.tenant.operation(operation_id))["status"] == "succeeded"
    instance = await controller.person.get(f"{served.tenant.path}/instances/{instance_id}")
    health = {"status": "healthy", "generation": instance["generation"]}
    told = await controller.person.call("PUT", f"{served.tenant.path}/instances/{instance_id}/health", health)
    assert told.status_code == 200, told.text
    path = f"{served.publisher.path}/controller/instances?app=echo"
    assert [one["id"] for one in (await controller.person.get(path))["items"]] == [instance_id]
    trail = (await served.tenant.admin.get(f"/tenants/{served.tenant.tenant_id}/audit"))["items"]
    assert {"operation_claim", "operation_complete"} <= {one["action"] for one in trail}  # in the trail of the tenant


async def test_operations_of_other_apps_stay_hidden(served: Served) -> None:
    await served.consent()
    instance_id, operation_id = await served.tenant.created(nodes=1)
    async with served.publisher.platform.database.connection(PLATFORM) as connection:
        for table, column in (("app_operations", "instance_id"), ("app_instances", "id")):
            update = f"UPDATE {table} SET app_slug = 'another' WHERE {column} = %s"
            await connection.execute(update.encode(), (instance_id,))
    assert await served.work() == []
    answers = [answer async for answer in _attempts(served, served.tenant, instance_id, operation_id)]
    lists, rest = answers[:2], answers[2:]
    assert [answer.json()["items"] for answer in lists] == [[], []]
    assert {answer.status_code for answer in rest} == {404}


async def test_a_consent_for_one_project_opens_no_other(served: Served) -> None:
    tenant = served.tenant
    body = {"slug": "other", "name": "Other"}
    other = await tenant.admin.post(f"/tenants/{tenant.tenant_id}/projects", body)
    await served.consent(project_ids=[other["id"]])
    instance_id, operation_id = await tenant.created(nodes=1)
    assert await served.work() == []
    await _refused_everywhere(served, tenant, instance_id, operation_id)


async def test_counts_are_read_only_on_allocations_of_projects_that_the_consent_names(served: Served) -> None:
    tenant = served.tenant
    other = await tenant.admin.post(f"/tenants/{tenant.tenant_id}/projects", {"slug": "other", "name": "Other"})
    await served.consent(project_ids=[tenant.project_id])
    instance_id, operation_id = await tenant.created(nodes=2)
    await tenant.controller.carry_out(operation_id)
    async with tenant.platform.database.connection(PLATFORM) as connection:  # a member in a project that it serves
        served_too = (instance_id, other["id"], tenant.tenant_id)
        await connection.execute(
            "INSERT INTO instance_projects (instance_id, project_id, tenant_id, slug, home, since, added_by)"
            " VALUES (%s, %s, %s, 'other', false, now(), 'usr_x')",
            served_too,
        )
        moved = (other["id"], tenant.allocations[1])
        await connection.execute("UPDATE app_members SET place_project_id = %s WHERE allocation_id = %s", moved)
        await connection.execute("UPDATE allocations SET project_id = %s WHERE id = %s", moved)
    path, key = f"{tenant.path}/instances/{instance_id}/usage-access", {"public_key": PUBLIC_KEY}
    given = (await tenant.controller.person.call("POST", path, key)).json()
    assert [one["principal"] for one in given["certificates"]] == tenant.allocations[:1]


async def test_a_permission_that_the_consent_does_not_name_is_refused(served: Served) -> None:
    await served.consent(permissions=["operations", "health"])
    _, operation_id = await served.tenant.created(nodes=1)
    await served.tenant.controller.does(operation_id, "claim")
    answer = await served.tenant.controller.send(operation_id, "machine-access", {"public_key": PUBLIC_KEY})
    assert answer.status_code == 404
    await served.tenant.controller.does(operation_id, "complete")


async def test_a_consent_withdrawn_in_the_middle_of_an_operation_ends_it_for_the_controller(served: Served) -> None:
    consent = await served.consent()
    instance_id, operation_id = await served.tenant.created(nodes=1)
    await served.tenant.controller.does(operation_id, "claim")
    served.controller.token = served.tenant.controller.token
    issued = await served.tenant.controller.send(operation_id, "machine-access", {"public_key": PUBLIC_KEY})
    secret = await served.tenant.controller.send(operation_id, "runtime-secrets", {"recipient_key": RECIPIENT})
    assert (issued.status_code, secret.status_code) == (201, 201), secret.text
    await served.withdraw(consent)
    # The wake-up may not have arrived at the gate yet: then the database answers.
    await _refused_everywhere(served, served.tenant, instance_id, operation_id)
    await served.tenant.settle()
    operation = await served.tenant.operation(operation_id)
    assert (operation["status"], operation["attempt"]) == ("pending", 1)
    path = f"{served.tenant.path}/allocations/{served.tenant.allocations[0]}/ssh-certificates"
    certificates = (await served.tenant.admin.get(path))["items"]
    assert [one["revoked_at"] is not None for one in certificates] == [True]
    async with served.publisher.platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT count(*) AS n FROM runtime_secrets WHERE revoked_at IS NULL")
        assert (await cursor.fetchone() or {})["n"] == 0
    assert await served.work() == []
    await served.consent()  # and back again
    assert [one["id"] for one in await served.work()] == [operation_id]


async def test_a_binding_that_is_deleted_ends_all_leases_elsewhere_and_none_at_home(served: Served) -> None:
    await served.consent()
    _, away = await served.tenant.created(nodes=1)
    _, home = await served.publisher.created(nodes=1)
    await served.tenant.controller.does(away, "claim")
    await served.publisher.controller.does(home, "claim")
    path = f"{served.publisher.path}/controller-bindings/{served.binding_id}"
    assert (await served.publisher.admin.call("DELETE", path)).status_code == 204
    answer = await served.tenant.controller.send(away, "report")
    assert answer.status_code == 404
    await served.tenant.settle()
    assert (await served.tenant.operation(away))["status"] == "pending"
    assert (await served.publisher.operation(home))["status"] == "claimed"


async def test_the_database_alone_keeps_a_controller_to_what_is_consented(served: Served) -> None:
    """The scope that the gate sets is wide on purpose: the policy is taken for broken."""
    await served.consent()
    await served.publisher.publish(version="1.5.0", secrets=[SECRET])
    instance_id = await _running_with_secret(served.tenant)
    served.stranger.controller = await served.stranger.another_controller()  # the way of before
    await _running_with_secret(served.stranger)
    account = served.controller.account_id
    for table in WALLED:
        assert await _count(served.tenant, Scope(served.tenant.tenant_id, controller=account), table) > 0, table
        assert await _count(served.tenant, Scope(served.stranger.tenant_id, controller=account), table) == 0, table
        assert await _count(served.tenant, Scope(served.tenant.tenant_id, controller=new_id("sva")), table) == 0, table
    for table in HIDDEN:
        assert await _count(served.tenant, Scope(served.tenant.tenant_id, controller=account), table) == 0, table
    beyond = Scope("", controller=account)
    assert await _count(served.tenant, beyond, "app_instances") == 1
    for table in ("app_members", "app_instance_events", "allocations", "projects", "tenants", "secrets", "events"):
        assert await _count(served.tenant, beyond, table) == 0, table
    async with served.publisher.platform.database.connection(beyond) as connection:
        cursor = await select(connection, "UPDATE app_instances SET name = 'mine' RETURNING id")
        assert await cursor.fetchall() == []  # across tenants it only reads
    async with served.publisher.platform.database.connection(Scope(served.tenant.tenant_id, controller=account)) as c:
        with pytest.raises(InsufficientPrivilege):
            await c.execute("UPDATE app_instances SET app_slug = 'another' WHERE id = %s", (instance_id,))


async def test_a_controller_has_the_secrets_of_its_app_and_the_database_hides_those_of_another(served: Served) -> None:
    """From the first read to the end of the instance, all that the platform does for it happens in the controller's scope."""
    await served.consent()
    await served.publisher.publish(version="1.5.0", secrets=[SECRET])
    tenant, database = served.tenant, served.tenant.platform.database
    instance_id, other = [await _running_with_secret(tenant, number) for number in range(2)]
    async with database.connection(PLATFORM) as connection:
        await connection.execute("UPDATE app_instances SET app_slug = 'another' WHERE id = %s", (other,))
    scope = Scope(tenant.tenant_id, controller=served.controller.account_id)
    assert [await _count(tenant, scope, table) for table in ("instance_secrets", "secrets")] == [1, 1]
    async with database.connection(scope) as connection:
        for change in ("UPDATE instance_secrets SET version = 9", "UPDATE secrets SET purpose = 'mine'"):
            cursor = await select(connection, f"{change} RETURNING 1")
            assert len(await cursor.fetchall()) == 1, change
        await connection.execute("UPDATE instance_secrets SET version = 1")
        await connection.execute("UPDATE secrets SET purpose = 'instance_secret'")  # without a word that reads
    async with database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT count(*) AS n FROM secrets WHERE purpose = 'instance_secret'")
        assert (await cursor.fetchone() or {})["n"] == 2
    rotation = await tenant.asked(instance_id, "secrets/cluster-key/rotate")
    await tenant.controller.does(rotation, "claim")
    (read,) = (await tenant.controller.does(rotation, "secrets", recipient_key=RECIPIENT))["items"]
    assert (read["version"], read["previous_sealed"] is None, read["rotated"]) == (2, False, True)
    await tenant.controller.does(rotation, "complete")
    await tenant.controller.carry_out(await tenant.asked(instance_id, "decommission"))
    await tenant.settle()
    async with database.connection(PLATFORM) as connection:
        cursor = await select(
            connection, "SELECT version, destroyed_at IS NULL AS lives FROM secrets ORDER BY id, version"
        )
        left = [(row["version"], row["lives"]) for row in await cursor.fetchall()]
    assert left == [(1, False), (2, False), (1, True)]  # the other app's stays


async def test_a_controller_of_another_publisher_gains_nothing_by_the_same_slug(served: Served) -> None:
    """Anybody may name any app in app_slugs; only a binding of the app's own project reaches into other tenants."""
    await served.consent()
    _, operation_id = await served.tenant.created(nodes=1)
    impostor = await served.stranger.another_controller()
    assert await impostor.work() == []
    path = f"{served.tenant.path}/operations/{operation_id}/claim"
    answer = await impostor.person.call("POST", path, {"replica": "replica-1"})
    assert answer.status_code == 404
    bound = {"app": "echo", "service_account_id": impostor.account_id}
    answer = await served.publisher.admin.call("POST", f"{served.stranger.path}/controller-bindings", bound)
    assert answer.status_code == 404  # it is not an app of that project
    answer = await served.publisher.admin.call("POST", f"{served.publisher.path}/controller-bindings", bound)
    assert answer.status_code == 404  # nor is this an account of the publisher's project


async def test_a_claim_and_a_withdrawal_at_the_same_moment_leave_no_lease(served: Served) -> None:
    for number in range(2):
        consent = await served.consent()
        _, operation_id = await served.tenant.created(
            f"i-{number}", nodes=1, placement_intent=_one(served.tenant, number)
        )
        claim, _ = await asyncio.gather(served.tenant.controller.send(operation_id, "claim"), served.withdraw(consent))
        assert claim.status_code in (200, 404)
        await served.tenant.settle()
        assert (await served.tenant.operation(operation_id))["status"] == "pending"
        await served.tenant.admin.post(f"{served.tenant.path}/operations/{operation_id}/cancel", {})


def _one(tenant: AppSite, number: int) -> list[dict[str, str]]:
    place = tenant.allocations[number % len(tenant.allocations)]
    return [{"component_key": key, "allocation_id": place} for key in ("head", "node")]


def test_each_action_of_controllers_has_a_permission_or_stays_in_their_own_project() -> None:
    of_controllers = {action for action, rule in RULES.items() if "apps:control" in rule.grants}
    assert of_controllers == PERMISSION_OF_ACTION.keys() | OWN_PROJECT_ONLY
    assert not PERMISSION_OF_ACTION.keys() & OWN_PROJECT_ONLY
