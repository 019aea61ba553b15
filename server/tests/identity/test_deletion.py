"""Users and service accounts that are deleted, and keys that are disabled for a while."""

from gpuaas_server.identity.principals import ACCESS_END, CONTROLLER_LEASES_END, SSH_KEYS_DELETE
from gpuaas_server.kernel.database import PLATFORM
from tests_support.browsers import Browser
from tests_support.people import PASSWORD, Person, World, account_token, token_request
from tests_support.select import select


async def lines(world: World, query: str, *values: object) -> list[str]:
    async with world.platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, query, values)
        return [str(row["line"]) for row in await cursor.fetchall()]


async def work_of(world: World, subject: str) -> set[str]:
    return set(await lines(world, "SELECT kind AS line FROM work_items WHERE subject = %s", subject))


async def tenant_of(world: World, user: Person) -> str:
    return str((await world.admin.get(f"/users/{user.id}")).json()["tenant_id"])


async def test_a_deleted_user_is_out_at_once_everywhere(world: World, ann: Person, browser: Browser) -> None:
    tenant = await tenant_of(world, ann)
    project = await world.project(tenant, "vision")
    await world.give(ann.id, "project_member", tenant, project)
    await browser.sign_in()
    refresh = (await token_request(world.client, ann.email, PASSWORD)).json()["refresh_token"]
    assert (await world.admin.call("DELETE", f"/tenants/{tenant}/users/{ann.id}")).status_code == 204
    assert (await token_request(world.client, ann.email, PASSWORD)).json()["code"] == "bad_credentials"
    assert (await ann.get("/me")).json()["code"] == "token_invalid"
    assert await browser.code() == "session_ended"
    again = await world.client.post("/auth/token", json={"grant_type": "refresh_token", "refresh_token": refresh})
    assert again.json()["code"] == "session_ended"
    assert await work_of(world, ann.id) == {ACCESS_END, SSH_KEYS_DELETE}
    members = (await world.admin.get(f"/projects/{project}/members")).json()["items"]
    assert [member["id"] for member in members] == []


async def test_nothing_but_the_id_is_left_of_a_deleted_user_outside_the_audit_trail(world: World, ann: Person) -> None:
    tenant = await tenant_of(world, ann)
    assert (await world.admin.call("DELETE", f"/users/{ann.id}")).status_code == 204
    tables = await lines(world, "SELECT tablename AS line FROM pg_tables WHERE schemaname = 'public'")
    for table in sorted(set(tables) - {"audit_records", "alembic_version"}):
        rows = await lines(world, f'SELECT t::text AS line FROM "{table}" t')
        assert [row for row in rows if ann.email in row] == [], table
    for path in (f"/users/{ann.id}", f"/tenants/{tenant}/users/{ann.id}"):
        assert (await world.admin.get(path)).status_code == 404
        assert (await world.admin.call("DELETE", path)).status_code == 404
    assert ann.id not in (await world.admin.get("/users")).text
    assert [row["resource_id"] for row in await world.audit(action="user_delete", outcome="done")] == [ann.id]
    events = "SELECT subject AS line FROM events WHERE type = 'user.deleted' AND tenant_id = %s"
    assert await lines(world, events, tenant) == [ann.id]


async def test_the_address_of_a_deleted_user_is_free_and_brings_nothing_back(world: World, ann: Person) -> None:
    tenant = await tenant_of(world, ann)
    await world.admin.call("DELETE", f"/users/{ann.id}")
    other = await world.person(ann.email, tenant)
    assert other.id != ann.id
    assert (await other.get("/me")).json()["roles"] == []
    assert (await ann.get("/me")).status_code == 401


async def test_neither_the_last_administrator_nor_oneself_can_be_deleted(world: World, ann: Person) -> None:
    tenant = await tenant_of(world, ann)
    assert (await world.admin.call("DELETE", f"/users/{world.admin.id}")).json()["code"] == "conflict"
    await world.give(ann.id, "tenant_admin", tenant)
    assert (await world.admin.call("DELETE", f"/users/{ann.id}")).json()["code"] == "last_admin"
    ben = await world.person("ben@acme.test", tenant, "tenant_admin")
    assert (await ben.call("DELETE", f"/tenants/{tenant}/users/{ann.id}")).status_code == 204


async def test_a_user_of_another_tenant_is_not_there_to_be_deleted(world: World, ann: Person) -> None:
    other = await world.tenant("other")
    chief = await world.person("chief@other.test", other, "tenant_admin")
    assert (await chief.call("DELETE", f"/tenants/{other}/users/{ann.id}")).status_code == 404
    assert (await ann.get("/me")).status_code == 200


async def account(world: World) -> tuple[str, str, str, str]:
    """Path, client id, the key's id, its secret."""
    project = await world.project(await world.tenant("programs"), "vision")
    path = f"/projects/{project}/service-accounts"
    made = await world.admin.made(path, {"name": "ci", "scopes": ["projects:read"]})
    key: dict[str, str] = made["key"]  # type: ignore[assignment]
    return f"{path}/{made['id']}", str(made["id"]), key["id"], key["secret"]


async def test_a_deleted_service_account_is_out_at_once_and_its_name_is_free(world: World) -> None:
    path, account_id, _, secret = await account(world)
    program = Person(
        world.client, account_id, "", (await account_token(world.client, account_id, secret)).json()["access_token"]
    )
    assert (await world.admin.call("DELETE", path)).status_code == 204
    assert (await account_token(world.client, account_id, secret)).status_code == 401
    assert (await program.get("/me")).json()["code"] == "token_invalid"
    assert (await world.admin.get(path)).status_code == 404
    assert await work_of(world, account_id) == {ACCESS_END, CONTROLLER_LEASES_END}
    assert await lines(world, "SELECT id AS line FROM service_account_keys") == []
    again = await world.admin.made(path.rpartition("/")[0], {"name": "ci", "scopes": ["projects:read"]})
    assert again["id"] != account_id
    assert (await program.get("/me")).status_code == 401


async def test_a_disabled_key_is_refused_with_its_tokens_until_it_is_enabled(world: World) -> None:
    path, account_id, key_id, secret = await account(world)
    token = (await account_token(world.client, account_id, secret)).json()["access_token"]
    program = Person(world.client, account_id, "", token)
    other = (await world.admin.made(f"{path}/keys", {}))["secret"]
    changed = await world.admin.call("PATCH", f"{path}/keys/{key_id}", json={"disabled": True})
    assert (changed.status_code, changed.json()["disabled"]) == (200, True)
    assert (await account_token(world.client, account_id, secret)).status_code == 401
    assert (await program.get("/me")).json()["code"] == "token_invalid"
    assert (await account_token(world.client, account_id, str(other))).status_code == 200
    assert await work_of(world, account_id) == {ACCESS_END}
    enabled = await world.admin.call("PATCH", f"{path}/keys/{key_id}", json={"disabled": False})
    assert enabled.json()["disabled"] is False
    assert (await account_token(world.client, account_id, secret)).status_code == 200
    assert (await program.get("/me")).status_code == 200
    rows = await world.audit(action="service_account_key_update")
    assert [row["details"]["disabled"] for row in rows] == [False, True]  # type: ignore[index]


async def test_deleting_a_key_ends_the_certificates_of_the_account(world: World) -> None:
    path, account_id, key_id, _ = await account(world)
    assert (await world.admin.call("DELETE", f"{path}/keys/{key_id}")).status_code == 204
    assert await work_of(world, account_id) == {ACCESS_END}
