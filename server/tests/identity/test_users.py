"""Users: made, listed, changed, and never the last administrator gone."""

import asyncio

import pytest

from gpuaas_server.kernel.ids import new_id
from tests_support.people import PASSWORD, Person, World, sign_in, token_request


async def test_a_password_made_by_the_platform_is_shown_once(world: World) -> None:
    tenant = await world.tenant("acme")
    made = await world.admin.made(f"/tenants/{tenant}/users", {"email": "ann@acme.test", "name": "Ann"})
    assert await sign_in(world.client, "ann@acme.test", str(made["initial_password"]))
    shown = (await world.admin.get(f"/tenants/{tenant}/users/{made['id']}")).json()
    assert "initial_password" not in shown


async def test_a_password_chosen_by_the_creator_is_not_echoed(world: World) -> None:
    made = await world.admin.made("/users", {"email": "op@gpuaas.local", "name": "Op", "password": PASSWORD})
    assert made["initial_password"] is None
    assert PASSWORD not in str(made)


async def test_an_address_is_one_user_on_the_whole_platform(world: World) -> None:
    acme, other = await world.tenant("acme"), await world.tenant("other")
    await world.person("ann@acme.test", acme)
    boss = await world.person("boss@other.test", other, "tenant_admin")
    body = {"email": "ANN@acme.test", "name": "Ann"}
    answer = await boss.call("POST", f"/tenants/{other}/users", json=body)
    assert (answer.status_code, answer.json()["code"]) == (409, "already_exists")


async def test_a_user_of_a_tenant_that_does_not_exist_cannot_be_made(world: World) -> None:
    body = {"email": "ann@acme.test", "name": "Ann", "tenant_id": new_id("tnt")}
    assert (await world.admin.call("POST", "/users", json=body)).status_code == 404


@pytest.mark.parametrize("password", ["aaaaaaaaaaaaaaaa", "password123456"])
async def test_a_weak_password_is_refused_at_creation(world: World, password: str) -> None:
    body = {"email": "ann@acme.test", "name": "Ann", "password": password}
    answer = await world.admin.call("POST", "/users", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "weak_password")


async def test_a_reset_password_works_and_ends_old_tokens(world: World) -> None:
    tenant = await world.tenant("acme")
    ann = await world.person("ann@acme.test", tenant)
    answer = await world.admin.call("PATCH", f"/tenants/{tenant}/users/{ann.id}", json={"reset_password": True})
    await asyncio.sleep(0.05)
    assert (await ann.get("/me")).status_code == 401
    assert (await token_request(world.client, ann.email, PASSWORD)).status_code == 401
    assert await sign_in(world.client, ann.email, answer.json()["initial_password"])


async def test_a_disabled_user_cannot_sign_in_and_a_wrong_password_does_not_tell(world: World) -> None:
    tenant = await world.tenant("acme")
    ann = await world.person("ann@acme.test", tenant)
    await world.admin.call("PATCH", f"/tenants/{tenant}/users/{ann.id}", json={"disabled": True})
    assert (await token_request(world.client, ann.email, PASSWORD)).json()["code"] == "account_disabled"
    assert (await token_request(world.client, ann.email, "no")).json()["code"] == "bad_credentials"


async def test_a_change_prepared_against_an_older_generation_is_refused(world: World) -> None:
    tenant = await world.tenant("acme")
    ann = await world.person("ann@acme.test", tenant)
    path = f"/tenants/{tenant}/users/{ann.id}"
    etag = (await world.admin.get(path)).headers["etag"]
    first = await world.admin.call("PATCH", path, json={"name": "Ann B"}, headers={"If-Match": etag})
    second = await world.admin.call("PATCH", path, json={"name": "Ann C"}, headers={"If-Match": etag})
    assert (first.status_code, second.status_code) == (200, 412)


async def test_a_tenant_admin_manages_the_users_of_their_tenant_only(world: World) -> None:
    acme, other = await world.tenant("acme"), await world.tenant("other")
    boss = await world.person("boss@acme.test", acme, "tenant_admin")
    stranger = await world.person("bob@other.test", other)
    made = await boss.made(f"/tenants/{acme}/users", {"email": "new@acme.test", "name": "New"})
    assert made["tenant_id"] == acme
    assert (await boss.get(f"/tenants/{acme}/users/{stranger.id}")).status_code == 404
    assert (await boss.call("PATCH", f"/tenants/{other}/users/{stranger.id}", json={})).status_code == 404
    listed = [user["email"] for user in (await boss.get(f"/tenants/{acme}/users")).json()["items"]]
    assert listed == ["new@acme.test", "boss@acme.test"]


async def test_lists_are_paged_newest_first(world: World) -> None:
    tenant = await world.tenant("acme")
    made = [
        str((await world.admin.made(f"/tenants/{tenant}/users", {"email": f"u{n}@acme.test", "name": "U"}))["id"])
        for n in range(3)
    ]
    first = (await world.admin.get(f"/tenants/{tenant}/users?limit=2")).json()
    rest = (await world.admin.get(f"/tenants/{tenant}/users?limit=2&after={first['next_cursor']}")).json()
    assert [user["id"] for user in first["items"] + rest["items"]] == made[::-1]
    assert rest["next_cursor"] is None


async def test_the_last_platform_admin_cannot_go(world: World) -> None:
    me = world.admin.id
    for method, path, body in (
        ("DELETE", f"/users/{me}/platform-role", None),
        ("PUT", f"/users/{me}/platform-role", {"role": "platform_operator"}),
        ("PATCH", f"/users/{me}", {"disabled": True}),
    ):
        answer = await world.admin.call(method, path, json=body)
        assert (answer.status_code, answer.json()["code"]) == (409, "last_admin"), path


async def test_two_administrators_cannot_remove_each_other_at_once(world: World) -> None:
    second = await world.person("second@gpuaas.local", role="platform_admin")
    people: list[Person] = [world.admin, second]
    answers = await asyncio.gather(
        people[0].call("DELETE", f"/users/{second.id}/platform-role"),
        people[1].call("DELETE", f"/users/{world.admin.id}/platform-role"),
    )
    assert sorted(answer.status_code for answer in answers) in ([204, 403], [204, 409])


async def test_a_platform_role_is_not_for_a_user_of_a_tenant(world: World) -> None:
    ann = await world.person("ann@acme.test", await world.tenant("acme"))
    answer = await world.admin.call("PUT", f"/users/{ann.id}/platform-role", json={"role": "platform_admin"})
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


async def test_an_operator_reads_users_and_changes_none(world: World) -> None:
    operator = await world.person("op@gpuaas.local", role="platform_operator")
    assert (await operator.get("/users")).status_code == 200
    assert (await operator.call("PATCH", f"/users/{world.admin.id}", json={"name": "X"})).status_code == 403
