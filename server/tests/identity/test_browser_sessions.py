"""Sessions in browsers: a cookie that scripts cannot read opens the API, until somebody signs out."""

import asyncio
import logging
from base64 import urlsafe_b64decode
from http.cookies import SimpleCookie

import pytest

from gpuaas_server.identity.cookies import COOKIE
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.logs import JsonFormatter
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from tests_support.browsers import CHANGE, GRANT, OWN, Browser, another, denials
from tests_support.people import PASSWORD, Person, World, serving
from tests_support.select import select


async def test_signing_in_says_who_it_is_and_sets_a_cookie_that_opens_the_api(browser: Browser, ann: Person) -> None:
    answer = await browser.sign_in()
    assert answer.status_code == 200, answer.text
    assert answer.json()["user"]["id"] == ann.id
    assert (await browser.client.get("/me")).json() == answer.json()["user"]


async def test_a_page_that_loads_again_gets_the_same_session_and_token(browser: Browser) -> None:
    first = (await browser.sign_in()).json()
    again = (await browser.client.get("/auth/session")).json()
    assert (again["user"], again["csrf_token"]) == (first["user"], first["csrf_token"])


async def test_the_cookie_is_kept_from_scripts_and_from_other_sites(browser: Browser) -> None:
    cookie = SimpleCookie((await browser.sign_in()).headers["set-cookie"])[COOKIE]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "strict", "/")
    assert (cookie["secure"], cookie["max-age"], cookie["domain"]) == ("", "", "")


@pytest.mark.parametrize("by", ["https", "a setting"])
async def test_where_browsers_come_by_https_the_cookie_is_kept_to_it(world: World, ann: Person, by: str) -> None:
    if by == "a setting":
        world.platform.settings = world.platform.settings.model_copy(update={"public_url": "https://cloud.example"})
    own = "https://test" if by == "https" else OWN
    async with another(world, own) as browser:
        answer = await browser.sign_in(Origin=own)
        assert SimpleCookie(answer.headers["set-cookie"])[COOKIE]["secure"] is True


async def test_without_a_cookie_there_is_no_session(browser: Browser) -> None:
    answer = await browser.client.get("/auth/session")
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert await browser.code() == "unauthenticated"


@pytest.mark.parametrize("text", ["", "x", "gws_", "gws_" + "A" * 43, "gws_" + "A" * 44, "gws_" + "=" * 43])
async def test_a_cookie_of_no_session_opens_nothing(browser: Browser, text: str) -> None:
    for path in ("/auth/session", "/me"):
        answer = await browser.client.get(path, headers={"Cookie": f"{COOKIE}={text}"})
        assert (answer.status_code, answer.json()["code"]) == (401, "session_ended")


async def test_answers_are_private_and_not_cached(browser: Browser) -> None:
    answers = [await browser.sign_in(), await browser.client.get("/auth/session"), await browser.client.get("/me")]
    answers.append(await browser.change())
    for answer in answers:
        assert answer.headers["cache-control"] == "no-store"
        assert {"authorization", "cookie"} <= {name.strip().lower() for name in answer.headers["vary"].split(",")}


@pytest.mark.usefixtures("only_news")
async def test_signing_out_ends_the_session_on_every_replica_and_takes_the_cookie_back(
    world: World, browser: Browser, settings: Settings, ann: Person
) -> None:
    await browser.sign_in()
    cookie = browser.client.cookies[COOKIE]
    async with running_platform(settings) as other, serving(other) as client:
        client.cookies.set(COOKIE, cookie)
        assert (await client.get("/me")).status_code == 200
        answer = await browser.change()
        assert (answer.status_code, COOKIE in browser.client.cookies) == (204, False)
        browser.client.cookies.set(COOKIE, cookie)
        assert await browser.code() == "session_ended"
        async with asyncio.timeout(60):
            while (await client.get("/me")).status_code == 200:
                await asyncio.sleep(0.005)
    [row] = await world.audit(action="auth_session_end")
    assert (row["resource_id"], row["actor_id"], row["outcome"]) == (ann.id, ann.id, "done")


async def test_signing_out_twice_is_no_error(world: World, browser: Browser) -> None:
    await browser.sign_in()
    cookie = browser.client.cookies[COOKIE]
    assert (await browser.change()).status_code == 204
    assert (await browser.change()).status_code == 204
    browser.client.cookies.set(COOKIE, cookie)
    assert (await browser.change()).status_code == 204
    assert len(await world.audit(action="auth_session_end")) == 1


async def test_signing_in_again_gives_a_new_secret_and_ends_what_the_browser_had(
    world: World, browser: Browser
) -> None:
    await browser.sign_in()
    planted, old_token = browser.client.cookies[COOKIE], browser.csrf_token
    await browser.sign_in()
    assert planted != browser.client.cookies[COOKIE]
    assert old_token != browser.csrf_token
    assert await browser.code() == "ok"
    browser.client.cookies.clear()
    browser.client.cookies.set(COOKIE, planted)
    assert await browser.code() == "session_ended"
    rows = await world.audit(action="auth_session_create")
    assert [("replaced" in row["details"]) for row in rows] == [True, False]  # type: ignore[operator]


async def test_other_browsers_of_the_same_person_stay_signed_in(world: World, browser: Browser) -> None:
    async with another(world) as second:
        await browser.sign_in()
        await second.sign_in()
        await browser.change()
        assert await second.code() == "ok"


async def test_a_bearer_token_goes_before_the_cookie(world: World, browser: Browser, ann: Person) -> None:
    await browser.sign_in()
    bearer = {"Authorization": f"Bearer {world.admin.token}"}
    assert (await browser.client.get("/me", headers=bearer)).json()["id"] == world.admin.id
    # Nor does it need what only the cookie needs.
    foreign = {**bearer, "Origin": "https://elsewhere.example"}
    made = await browser.client.post("/tenants", json={"slug": "made", "name": "Made"}, headers=foreign)
    assert made.status_code == 201
    refused = await browser.client.get("/me", headers={"Authorization": "Bearer nonsense"})
    assert refused.json()["code"] == "token_invalid"


async def test_wrong_passwords_lock_the_name_for_tokens_and_browser_sessions(world: World, browser: Browser) -> None:
    for _ in range(world.platform.settings.login_attempts):
        answer = await browser.sign_in("wrong")
        assert (answer.status_code, answer.json()["code"]) == (401, "bad_credentials")
        assert "set-cookie" not in answer.headers
    assert (await browser.sign_in()).json()["code"] == "account_locked"
    assert (await world.client.post("/auth/token", json=GRANT)).json()["code"] == "account_locked"
    assert ("auth_session_create", "bad_credentials") in await denials(world)


async def test_attempts_count_against_the_address_for_tokens_and_browser_sessions(
    world: World, browser: Browser
) -> None:
    world.platform.settings = world.platform.settings.model_copy(update={"login_rate_per_minute": 4})
    for _ in range(3):
        await browser.sign_in()
        await browser.client.post("/auth/token", json=GRANT)
    answer = await browser.sign_in()
    assert (answer.status_code, answer.json()["code"]) == (429, "rate_limited")


async def test_a_disabled_user_gets_no_session(world: World, browser: Browser, ann: Person) -> None:
    assert (await world.admin.call("PATCH", f"/users/{ann.id}", json={"disabled": True})).status_code == 200
    answer = await browser.sign_in()
    assert (answer.status_code, answer.json()["code"]) == (403, "account_disabled")
    assert ("auth_session_create", "account_disabled") in await denials(world)


async def test_the_secret_is_stored_and_logged_nowhere(
    world: World, browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        await browser.sign_in()
        cookie, csrf_token = browser.client.cookies[COOKIE], browser.csrf_token
        await browser.client.get("/me")
        await browser.client.post("/me/password", json=CHANGE)  # a refusal is written, too
    logged = "\n".join(JsonFormatter().format(record) for record in caplog.records)
    assert "/api/v1/auth/session" in logged
    async with world.platform.database.connection(PLATFORM) as connection:
        cursor = await select(
            connection, "SELECT s::text AS line FROM browser_sessions s UNION SELECT a::text FROM audit_records a"
        )
        stored = "\n".join(row["line"] for row in await cursor.fetchall())
    raw = urlsafe_b64decode(cookie.removeprefix("gws_") + "=")
    for text in (cookie, cookie.removeprefix("gws_"), raw.hex(), csrf_token, PASSWORD):
        assert text not in logged
        assert text not in stored
