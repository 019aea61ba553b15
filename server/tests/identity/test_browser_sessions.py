"""Sessions in browsers: a cookie that scripts cannot read and other sites cannot use, which ends when it should."""

import asyncio
import logging
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from http.cookies import SimpleCookie

import httpx
import pytest
from starlette.requests import HTTPConnection

from gpuaas_server.housekeeping.machine import HousekeepingMachine
from gpuaas_server.identity.cookies import COOKIE, CookieSecret, refuse_forged
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.logs import JsonFormatter
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from tests_support.people import PASSWORD, MovableClock, Person, World, build, serving

OWN = "http://test"
GRANT = {"grant_type": "password", "username": "ann@acme.test", "password": PASSWORD}


@dataclass
class Browser:
    """Keeps cookies, knows the CSRF token of the page that it shows, and says where a request comes from."""

    client: httpx.AsyncClient
    csrf_token: str = ""

    async def sign_in(self, password: str = PASSWORD, **headers: str) -> httpx.Response:
        headers = {"Origin": OWN, **headers}
        answer = await self.client.post("/auth/session", json={**GRANT, "password": password}, headers=headers)
        if answer.status_code == 200:
            self.csrf_token = answer.json()["csrf_token"]
        return answer

    async def change(self, method: str = "DELETE", path: str = "/auth/session", **options: object) -> httpx.Response:
        headers = {"Origin": OWN, "X-CSRF-Token": self.csrf_token, **options.pop("headers", {})}  # type: ignore[dict-item]
        return await self.client.request(method, path, headers=headers, **options)  # type: ignore[arg-type]

    async def code(self, path: str = "/me") -> str:
        """What the platform says to the cookie: `ok`, or the code of the refusal."""
        answer = await self.client.get(path)
        return "ok" if answer.status_code == 200 else str(answer.json()["code"])


@asynccontextmanager
async def another(world: World, base_url: str = OWN) -> AsyncIterator[Browser]:
    """A browser with nothing in it; the world's own client is everybody's, and must hold no cookie."""
    app = build(world.platform)
    async with app.state.gate.running():
        transport = httpx.ASGITransport(app=app, client=("192.0.2.7", 1))
        async with httpx.AsyncClient(transport=transport, base_url=f"{base_url}/api/v1") as client:
            yield Browser(client)


@pytest.fixture
async def ann(world: World) -> Person:
    return await world.person("ann@acme.test", await world.tenant("acme"))


@pytest.fixture
async def browser(world: World, ann: Person) -> AsyncIterator[Browser]:
    async with another(world) as browser:
        yield browser


async def denials(world: World) -> list[tuple[object, object]]:
    rows = await world.audit(outcome="denied")
    return [(row["action"], row["details"]["why"]) for row in rows]  # type: ignore[index]


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


async def test_without_a_cookie_nobody_is_signed_in(browser: Browser) -> None:
    answer = await browser.client.get("/auth/session")
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert await browser.code() == "unauthenticated"


@pytest.mark.parametrize("text", ["", "x", "gws_", "gws_" + "A" * 43, "gws_" + "A" * 44, "gws_" + "=" * 43])
async def test_a_cookie_of_no_session_opens_nothing(browser: Browser, text: str) -> None:
    for path in ("/auth/session", "/me"):
        answer = await browser.client.get(path, headers={"Cookie": f"{COOKIE}={text}"})
        assert (answer.status_code, answer.json()["code"]) == (401, "session_ended")


async def test_answers_are_for_this_browser_alone_and_are_kept_by_nobody(browser: Browser) -> None:
    answers = [await browser.sign_in(), await browser.client.get("/auth/session"), await browser.client.get("/me")]
    answers.append(await browser.change())
    for answer in answers:
        assert answer.headers["cache-control"] == "no-store"
        assert {"authorization", "cookie"} <= {name.strip().lower() for name in answer.headers["vary"].split(",")}


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
        async with asyncio.timeout(2):
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


async def test_use_moves_the_end_on(browser: Browser, clock: MovableClock, world: World) -> None:
    await browser.sign_in()
    idle = timedelta(minutes=world.platform.settings.session_idle_minutes)
    for _ in range(4):
        clock.ahead += idle - timedelta(seconds=30)
        assert await browser.code() == "ok"
    clock.ahead += idle + timedelta(seconds=1)
    assert await browser.code() == "session_ended"


async def test_a_page_that_loads_moves_the_end_on(browser: Browser, clock: MovableClock) -> None:
    first = datetime.fromisoformat((await browser.sign_in()).json()["expires_at"])
    clock.ahead = timedelta(minutes=30)
    moved = datetime.fromisoformat((await browser.client.get("/auth/session")).json()["expires_at"])
    assert timedelta(minutes=29) < moved - first < timedelta(minutes=31)
    clock.ahead = timedelta(minutes=80)  # later than the first end
    assert await browser.code() == "ok"


async def test_use_on_one_replica_counts_on_another(
    world: World, browser: Browser, clock: MovableClock, settings: Settings
) -> None:
    await browser.sign_in()
    async with running_platform(settings) as other, serving(other) as client:
        other.clock = clock
        client.cookies.set(COOKIE, browser.client.cookies[COOKIE])
        assert (await client.get("/me")).status_code == 200  # remembered there, with the first end
        clock.ahead = timedelta(minutes=50)
        assert await browser.code() == "ok"
        clock.ahead = timedelta(minutes=70)
        assert (await client.get("/me")).status_code == 200


async def test_however_much_it_is_used_it_ends(browser: Browser, clock: MovableClock, world: World) -> None:
    answer = (await browser.sign_in()).json()
    hours = world.platform.settings.session_hours
    for _ in range(hours * 2 - 1):
        clock.ahead += timedelta(minutes=30)
        assert await browser.code() == "ok"
    assert (await browser.client.get("/auth/session")).json()["expires_at"] == answer["ends_at"]
    clock.ahead += timedelta(minutes=30)
    assert await browser.code() == "session_ended"
    assert await browser.code("/auth/session") == "session_ended"


async def test_a_session_that_is_used_is_written_once_a_minute(
    browser: Browser, clock: MovableClock, world: World
) -> None:
    async def last_used() -> datetime:
        async with world.platform.database.connection(PLATFORM) as connection:
            row = await (await connection.execute("SELECT last_used_at FROM browser_sessions")).fetchone()
        assert row is not None
        found: datetime = row["last_used_at"]
        return found

    await browser.sign_in()
    first = await last_used()
    clock.ahead = timedelta(seconds=50)
    assert await browser.code() == "ok"
    assert await last_used() == first
    clock.ahead = timedelta(seconds=61)
    assert await browser.code() == "ok"
    assert await last_used() > first


async def test_disabling_the_user_ends_the_session_for_good(world: World, browser: Browser, ann: Person) -> None:
    await browser.sign_in()
    for disabled in (True, False):
        answer = await world.admin.call("PATCH", f"/users/{ann.id}", json={"disabled": disabled})
        assert answer.status_code == 200
        await _becomes(browser, "session_ended")
        assert await browser.code("/auth/session") == "session_ended"


@pytest.mark.parametrize("by", ["the user", "an administrator"])
async def test_a_new_password_ends_the_session(world: World, browser: Browser, ann: Person, by: str) -> None:
    await browser.sign_in()
    if by == "the user":
        body = {"current_password": PASSWORD, "new_password": "another fine phrase"}
        assert (await browser.change("POST", "/me/password", json=body)).status_code == 204
    else:
        answer = await world.admin.call("PATCH", f"/users/{ann.id}", json={"reset_password": True})
        assert answer.status_code == 200
    await _becomes(browser, "session_ended")
    assert await browser.code("/auth/session") == "session_ended"


async def _becomes(browser: Browser, code: str) -> None:
    """The browser is at a replica of its own, which hears of the change a moment later."""
    async with asyncio.timeout(2):
        while await browser.code() != code:
            await asyncio.sleep(0.005)


CHANGE = {"current_password": "wrong", "new_password": "another fine phrase"}


@pytest.mark.parametrize("shown", ["nothing", "nonsense", "of another session"])
async def test_a_change_without_the_sessions_own_token_is_refused_and_written_down(
    world: World, browser: Browser, shown: str
) -> None:
    await browser.sign_in()
    async with another(world) as second:
        await second.sign_in()
        token = {"nothing": "", "nonsense": "é", "of another session": second.csrf_token}[shown]
        headers = {"X-CSRF-Token": token.encode()} if token else {}
        answers = [
            await browser.client.post("/me/password", json=CHANGE, headers={"Origin": OWN, **headers}),
            await browser.client.delete("/auth/session", headers={"Origin": OWN, **headers}),
        ]
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(403, "csrf_token_wrong")] * 2
    assert await browser.code() == "ok"
    assert ("me_password_change", "csrf_token_wrong") in await denials(world)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "https://test", "http://test:81", "http://test.evil.example", "null", ""]
)
async def test_a_change_that_another_site_asked_for_is_refused(world: World, browser: Browser, origin: str) -> None:
    await browser.sign_in()
    answers = [
        await browser.change("POST", "/me/password", json=CHANGE, headers={"Origin": origin}),
        await browser.change(headers={"Origin": origin}),
        await browser.sign_in(Origin=origin),  # nor is anybody signed in by another site
    ]
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(403, "origin_refused")] * 3
    assert await browser.code() == "ok"
    assert ("me_password_change", "origin_refused") in await denials(world)


async def test_behind_a_proxy_the_public_address_is_our_own(world: World, browser: Browser) -> None:
    world.platform.settings = world.platform.settings.model_copy(update={"public_url": "https://cloud.example"})
    cookie = (await browser.sign_in()).headers["set-cookie"].partition(";")[0]
    from_there = {"Origin": "https://cloud.example", "Cookie": cookie}  # the proxy's client sent it by HTTPS
    answer = await browser.change("POST", "/me/password", json=CHANGE, headers=from_there)
    assert answer.json()["code"] == "bad_credentials"  # it got as far as the password


async def test_a_program_that_says_no_origin_needs_the_token_all_the_same(browser: Browser) -> None:
    await browser.sign_in()
    refused = await browser.client.delete("/auth/session")
    assert refused.json()["code"] == "csrf_token_wrong"
    ended = await browser.client.delete("/auth/session", headers={"X-CSRF-Token": browser.csrf_token})
    assert ended.status_code == 204


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


async def test_wrong_passwords_lock_the_name_for_both_doors(world: World, browser: Browser) -> None:
    for _ in range(world.platform.settings.login_attempts):
        answer = await browser.sign_in("wrong")
        assert (answer.status_code, answer.json()["code"]) == (401, "bad_credentials")
        assert "set-cookie" not in answer.headers
    assert (await browser.sign_in()).json()["code"] == "account_locked"
    assert (await world.client.post("/auth/token", json=GRANT)).json()["code"] == "account_locked"
    assert ("auth_session_create", "bad_credentials") in await denials(world)


async def test_attempts_count_against_the_address_at_both_doors(world: World, browser: Browser) -> None:
    world.platform.settings = world.platform.settings.model_copy(update={"login_rate_per_minute": 4})
    for _ in range(3):
        await browser.sign_in()
        await browser.client.post("/auth/token", json=GRANT)
    answer = await browser.sign_in()
    assert (answer.status_code, answer.json()["code"]) == (429, "rate_limited")


async def test_who_is_disabled_gets_no_session(world: World, browser: Browser, ann: Person) -> None:
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
        cursor = await connection.execute(
            "SELECT s::text AS line FROM browser_sessions s UNION SELECT a::text FROM audit_records a"
        )
        stored = "\n".join(row["line"] for row in await cursor.fetchall())
    raw = urlsafe_b64decode(cookie.removeprefix("gws_") + "=")
    for text in (cookie, cookie.removeprefix("gws_"), raw.hex(), csrf_token, PASSWORD):
        assert text not in logged
        assert text not in stored


async def test_sessions_that_have_ended_are_forgotten_by_and_by(
    world: World, browser: Browser, clock: MovableClock
) -> None:
    async def left() -> int:
        machine = HousekeepingMachine(world.platform)
        async with world.platform.transaction(PLATFORM, system_actor("test")) as tx:
            await machine.apply(tx, "platform", machine.decide("platform", tx.now))
        async with world.platform.database.connection(PLATFORM) as connection:
            return len(await (await connection.execute("SELECT 1 FROM browser_sessions")).fetchall())

    await browser.sign_in()
    assert await left() == 1
    clock.ahead = timedelta(hours=2)
    assert await left() == 0


@pytest.mark.parametrize(
    ("origin", "passes"), [("http://test", True), ("http://evil.example", False), ("null", False), (None, False)]
)
def test_a_websocket_by_the_cookie_must_come_from_our_own_pages(origin: str | None, passes: bool) -> None:
    """No page can add a header to it, so the origin is all there is to tell by."""
    headers = [(b"host", b"test")] + ([(b"origin", origin.encode())] if origin is not None else [])
    connection = HTTPConnection({"type": "websocket", "scheme": "ws", "path": "/", "headers": headers})
    if passes:
        refuse_forged(connection, CookieSecret.fresh(), "")
    else:
        with pytest.raises(Problem) as refused:
            refuse_forged(connection, CookieSecret.fresh(), "")
        assert refused.value.code == "origin_refused"
