"""What other sites make a browser send goes no further: tokens of the page, origins of requests and of WebSockets."""

import pytest
from starlette.requests import HTTPConnection

from gpuaas_server.identity.cookies import CookieSecret, refuse_forged
from gpuaas_server.kernel.errors import Problem
from tests_support.browsers import CHANGE, OWN, Browser, another, denials
from tests_support.people import World


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
