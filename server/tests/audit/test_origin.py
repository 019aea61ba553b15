"""Audit rows say how a request came: by which kind of client, what that called itself, and at which site."""

import pytest

from gpuaas_server.kernel.http.origin import MOST_USER_AGENT
from tests_support.browsers import another
from tests_support.people import PASSWORD, World, account_token
from tests_support.people_fixtures import clock, world

__all__ = ["clock", "world"]


async def origin(world: World, action: str) -> tuple[object, object, object]:
    row = (await world.audit(action=action))[0]
    return row["source"], row["user_agent"], row["site"]


@pytest.mark.parametrize(
    ("user_agent", "source"),
    [
        ("gpuaas-cli/0.1.0", "cli"),
        ("gpuaas-controller/echo", "controller"),
        ("gpuaas-sdk", "api"),
        ("console", "api"),
        ("system", "api"),
    ],
)
async def test_a_token_comes_from_the_client_that_it_names_if_we_know_it(
    world: World, user_agent: str, source: str
) -> None:
    world.platform.settings = world.platform.settings.model_copy(update={"site": "north"})
    headers = {"User-Agent": user_agent}
    body = {"slug": "acme", "name": "Acme"}
    assert (await world.admin.call("POST", "/tenants", json=body, headers=headers)).status_code == 201
    assert await origin(world, "tenant_create") == (source, user_agent, "north")


async def test_a_cookie_is_the_consoles_whatever_the_browser_calls_itself(world: World) -> None:
    ann = await world.person("ann@acme.test", await world.tenant("acme"))
    async with another(world) as browser:
        await browser.sign_in(**{"User-Agent": "Mozilla/5.0"})
        assert await origin(world, "auth_session_create") == ("console", "Mozilla/5.0", "")
        change = {"current_password": PASSWORD, "new_password": "another fine phrase"}
        headers = {"User-Agent": "gpuaas-cli/9"}
        assert (await browser.change("POST", "/me/password", json=change, headers=headers)).status_code == 204
    row = (await world.audit(action="me_password_change"))[0]
    assert (row["actor_id"], row["source"], row["user_agent"]) == (ann.id, "console", "gpuaas-cli/9")


async def test_what_a_client_calls_itself_is_bounded_and_escaped(world: World) -> None:
    await world.client.post(
        "/auth/token",
        json={"grant_type": "password", "username": "nobody@acme.test", "password": "wrong"},
        headers={"User-Agent": b"\x1b[2Jevil\xff" + b"x" * 5000},
    )
    _, said, _ = await origin(world, "auth_token")
    denied = (await world.audit(action="auth_token", outcome="denied"))[0]["user_agent"]
    assert denied == said
    assert str(said).startswith("\\x1b[2Jevil\\xff")
    assert len(str(said)) <= MOST_USER_AGENT


async def test_a_service_account_that_is_refused_is_written_down_with_its_client(world: World) -> None:
    project = await world.project(await world.tenant("acme"), "vision")
    made = await world.admin.made(f"/projects/{project}/service-accounts", {"name": "ci", "scopes": ["projects:read"]})
    await account_token(world.client, str(made["id"]), "gsk_wrong")
    row = (await world.audit(action="auth_token", outcome="denied"))[0]
    assert (row["source"], str(row["user_agent"]).partition("/")[0]) == ("api", "python-httpx")


async def test_the_retention_in_force_can_be_asked_by_anybody_signed_in(world: World) -> None:
    world.platform.settings = world.platform.settings.model_copy(update={"audit_retention_days": 777})
    ann = await world.person("ann@acme.test", await world.tenant("acme"))
    answer = await ann.get("/retention")
    periods = {item["name"]: item for item in answer.json()["items"]}
    assert (periods["audit"]["days"], periods["audit"]["setting"]) == (777, "GPUAAS_AUDIT_RETENTION_DAYS")
    assert {"event", "history", "operation", "delivery", "certificate", "enrolment"} <= periods.keys()
    assert (await world.client.get("/retention")).status_code == 401
