"""Service accounts: scopes, keys that overlap, expiry, and walls."""

import asyncio
from datetime import timedelta

import pytest

from gpuaas_server.kernel.ids import new_id
from tests_support.people import MovableClock, Person, World, account_token

BODY = {"name": "ci", "scopes": ["projects:read"]}


class Robot:
    """A service account of a fresh project, and the administrator's path to it."""

    def __init__(self, world: World, made: dict[str, object]) -> None:
        self.world, self.made = world, made
        self.id = str(made["id"])
        self.path = f"/projects/{made['project_id']}/service-accounts/{made['id']}"
        self.secret = str(made["key"]["secret"])  # type: ignore[index]
        self.key_id = str(made["key"]["id"])  # type: ignore[index]

    async def person(self, secret: str | None = None) -> Person:
        answer = await account_token(self.world.client, self.id, secret or self.secret)
        assert answer.status_code == 200, answer.text
        return Person(self.world.client, self.id, "", answer.json()["access_token"])


@pytest.fixture
async def robot(world: World) -> Robot:
    project = await world.project(await world.tenant("acme"), "vision")
    return Robot(world, await world.admin.made(f"/projects/{project}/service-accounts", BODY))


async def test_a_service_account_acts_by_its_scopes_in_its_project_only(world: World, robot: Robot) -> None:
    tenant, project = str(robot.made["tenant_id"]), str(robot.made["project_id"])
    other = await world.project(tenant, "other")
    program = await robot.person()
    assert (await program.get(f"/projects/{project}")).status_code == 200
    assert (await program.get(f"/projects/{other}")).status_code == 404
    assert (await program.get(f"/projects/{project}/members")).status_code == 403
    assert (await program.get(f"/tenants/{tenant}")).status_code == 404
    assert (await program.get("/users")).status_code == 403
    listed = (await program.get("/projects")).json()["items"]
    assert [item["id"] for item in listed] == [project]
    me = (await program.get("/me")).json()
    assert (me["kind"], me["scopes"]) == ("service_account", ["projects:read"])


async def test_the_secret_is_shown_at_creation_and_never_again(world: World, robot: Robot) -> None:
    assert robot.secret.startswith("gsk_")
    assert len(robot.secret) == 4 + 43
    for path in (robot.path, f"{robot.path}/keys", robot.path.rpartition("/")[0]):
        assert "gsk_" not in (await world.admin.get(path)).text
    assert "gsk_" not in str(await world.audit())


async def test_keys_overlap_while_they_rotate_and_a_deleted_one_ends_its_tokens_only(
    world: World, robot: Robot
) -> None:
    old = await robot.person()
    answer = await world.admin.call("POST", f"{robot.path}/keys", json={})
    assert answer.status_code == 201
    new = await robot.person(answer.json()["secret"])
    assert (await old.get("/me")).status_code == (await new.get("/me")).status_code == 200
    assert (await world.admin.call("DELETE", f"{robot.path}/keys/{robot.key_id}")).status_code == 204
    await asyncio.sleep(0.05)
    assert (await old.get("/me")).status_code == 401
    assert (await new.get("/me")).status_code == 200
    assert (await account_token(world.client, robot.id, robot.secret)).status_code == 401
    keys = (await world.admin.get(f"{robot.path}/keys")).json()["items"]
    assert [key["id"] for key in keys] == [answer.json()["id"]]
    assert keys[0]["last_used_at"] is not None


async def test_a_disabled_account_is_out_at_once(world: World, robot: Robot) -> None:
    program = await robot.person()
    assert (await world.admin.call("PATCH", robot.path, json={"disabled": True})).status_code == 200
    await asyncio.sleep(0.05)
    assert (await program.get("/me")).json()["code"] == "account_disabled"
    assert (await account_token(world.client, robot.id, robot.secret)).json()["code"] == "account_disabled"


async def test_a_scope_that_was_taken_away_is_gone_for_tokens_that_exist(world: World, robot: Robot) -> None:
    program = await robot.person()
    await world.admin.call("PATCH", robot.path, json={"scopes": ["events:read"]})
    await asyncio.sleep(0.05)
    assert (await program.get(f"/projects/{robot.made['project_id']}")).status_code == 403


async def test_an_account_and_a_key_end_when_they_expire(world: World, robot: Robot, clock: MovableClock) -> None:
    soon = (clock() + timedelta(minutes=5)).isoformat()
    answer = await world.admin.call("POST", f"{robot.path}/keys", json={"expires_at": soon})
    lasting, short = await robot.person(), await robot.person(answer.json()["secret"])
    clock.ahead = timedelta(minutes=6)
    assert (await short.get("/me")).json()["code"] == "token_expired"
    assert (await account_token(world.client, robot.id, answer.json()["secret"])).status_code == 401
    assert (await lasting.get("/me")).status_code == 200
    later = (clock() + timedelta(minutes=2)).isoformat()
    assert (await world.admin.call("PATCH", robot.path, json={"expires_at": later})).status_code == 200
    await asyncio.sleep(0.05)
    clock.ahead = timedelta(minutes=9)
    assert (await lasting.get("/me")).json()["code"] == "token_expired"
    assert (await account_token(world.client, robot.id, robot.secret)).status_code == 403


async def test_null_takes_an_expiry_away_and_absence_leaves_it(world: World, robot: Robot) -> None:
    await world.admin.call("PATCH", robot.path, json={"expires_at": "2999-01-01T00:00:00Z"})
    kept = await world.admin.call("PATCH", robot.path, json={"disabled": False})
    assert kept.json()["expires_at"] is not None
    assert (await world.admin.call("PATCH", robot.path, json={"expires_at": None})).json()["expires_at"] is None


async def test_an_expiry_in_the_past_is_refused(world: World, robot: Robot) -> None:
    body = {"expires_at": "2001-01-01T00:00:00Z"}
    assert (await world.admin.call("POST", f"{robot.path}/keys", json=body)).status_code == 422


async def test_a_name_is_used_once_in_a_project(world: World, robot: Robot) -> None:
    answer = await world.admin.call("POST", f"/projects/{robot.made['project_id']}/service-accounts", json=BODY)
    assert (answer.status_code, answer.json()["code"]) == (409, "already_exists")


async def test_keys_do_not_grow_without_end(world: World, robot: Robot) -> None:
    statuses = [(await world.admin.call("POST", f"{robot.path}/keys", json={})).status_code for _ in range(10)]
    assert statuses == [201] * 9 + [409]


async def test_a_wrong_secret_and_an_unknown_account_get_the_same_answer(world: World, robot: Robot) -> None:
    wrong = await account_token(world.client, robot.id, "gsk_wrong")
    unknown = await account_token(world.client, new_id("sva"), robot.secret)
    assert wrong.status_code == unknown.status_code == 401
    assert wrong.json()["detail"] == unknown.json()["detail"]


async def test_an_account_is_not_found_through_another_project(world: World, robot: Robot) -> None:
    other = await world.project(str(robot.made["tenant_id"]), "other")
    path = f"/projects/{other}/service-accounts/{robot.id}"
    assert (await world.admin.get(path)).status_code == 404
    assert (await world.admin.call("PATCH", path, json={"disabled": True})).status_code == 404
    assert (await world.admin.call("POST", f"{path}/keys", json={})).status_code == 404
    assert (await world.admin.get(f"{path}/keys")).status_code == 404


async def test_unknown_scopes_are_refused(world: World, robot: Robot) -> None:
    body = {"name": "x", "scopes": ["everything"]}
    path = f"/projects/{robot.made['project_id']}/service-accounts"
    assert (await world.admin.call("POST", path, json=body)).status_code == 422
