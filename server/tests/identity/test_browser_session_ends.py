"""Sessions in browsers end: by disuse, by age, with a password, with the account; and are forgotten then."""

import asyncio
from datetime import datetime, timedelta

import pytest

from gpuaas_server.housekeeping.jobs import HousekeepingJob
from gpuaas_server.identity.cookies import COOKIE
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from tests_support.browsers import Browser
from tests_support.people import PASSWORD, MovableClock, Person, World, serving
from tests_support.select import select


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
            row = await (await select(connection, "SELECT last_used_at FROM browser_sessions")).fetchone()
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


@pytest.mark.usefixtures("only_news")
async def test_disabling_the_user_ends_the_session_for_good(world: World, browser: Browser, ann: Person) -> None:
    await browser.sign_in()
    for disabled in (True, False):
        answer = await world.admin.call("PATCH", f"/users/{ann.id}", json={"disabled": disabled})
        assert answer.status_code == 200
        await _becomes(browser, "session_ended")
        assert await browser.code("/auth/session") == "session_ended"


@pytest.mark.usefixtures("only_news")
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
    async with asyncio.timeout(60):
        while await browser.code() != code:
            await asyncio.sleep(0.005)


async def test_sessions_that_have_ended_are_forgotten_by_and_by(
    world: World, browser: Browser, clock: MovableClock
) -> None:
    async def left() -> int:
        async with world.platform.transaction(PLATFORM, system_actor("test")) as tx:
            await HousekeepingJob(world.platform).run(tx, "platform")
        async with world.platform.database.connection(PLATFORM) as connection:
            return len(await (await select(connection, "SELECT 1 FROM browser_sessions")).fetchall())

    await browser.sign_in()
    assert await left() == 1
    clock.ahead = timedelta(hours=2)
    assert await left() == 0
