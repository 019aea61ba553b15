"""Sessions: a refresh token is good once, an old one ends the session, and what ends a user's tokens ends them too."""

import asyncio
from datetime import timedelta

import httpx
import pytest

from gpuaas_server.housekeeping.jobs import HousekeepingJob
from gpuaas_server.identity.sessions import RefreshToken
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from tests_support.people import PASSWORD, MovableClock, Person, World, account_token, serving, sign_in, token_request
from tests_support.select import select


@pytest.fixture
async def ann(world: World) -> Person:
    return await world.person("ann@acme.test", await world.tenant("acme"))


async def session_of(world: World, email: str = "ann@acme.test") -> str:
    answer = await token_request(world.client, email, PASSWORD)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["refresh_token"])


async def refresh(client: httpx.AsyncClient, token: str) -> httpx.Response:
    return await client.post("/auth/token", json={"grant_type": "refresh_token", "refresh_token": token})


async def refreshed(client: httpx.AsyncClient, token: str) -> str:
    answer = await refresh(client, token)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["refresh_token"])


async def is_over(client: httpx.AsyncClient, token: str) -> bool:
    answer = await refresh(client, token)
    if answer.status_code == 401:
        assert answer.json()["code"] == "session_ended"
    return answer.status_code == 401


async def whys(world: World) -> list[object]:
    rows = await world.audit(action="auth_token", outcome="denied")
    return [row["details"]["why"] for row in rows]  # type: ignore[index]


async def test_a_session_goes_on_without_the_password_and_with_a_new_token_each_time(world: World, ann: Person) -> None:
    tokens = [await session_of(world)]
    for _ in range(3):
        answer = await refresh(world.client, tokens[-1])
        tokens.append(answer.json()["refresh_token"])
        ann.token = answer.json()["access_token"]
        assert (await ann.get("/me")).json()["id"] == ann.id
    assert len(set(tokens)) == 4
    assert all(token.startswith("gsr_") and len(token) == 68 for token in tokens)


async def test_an_old_token_ends_the_session_for_everybody_and_is_written_down(world: World, ann: Person) -> None:
    first = await session_of(world)
    third = await refreshed(world.client, await refreshed(world.client, first))
    assert await is_over(world.client, first)
    assert await is_over(world.client, third)
    [row, *_] = reversed(await world.audit(action="auth_token", outcome="denied"))
    assert (row["resource_id"], row["details"]["why"]) == (ann.id, "refresh_replayed")  # type: ignore[index]


async def test_another_session_of_the_same_person_goes_on(world: World, ann: Person) -> None:
    stolen, other = await session_of(world), await session_of(world)
    await refreshed(world.client, await refreshed(world.client, stolen))
    assert await is_over(world.client, stolen)
    assert not await is_over(world.client, other)


async def test_a_client_that_lost_the_answer_may_ask_again_once(world: World, ann: Person) -> None:
    first = await session_of(world)
    await refreshed(world.client, first)  # the answer that never arrived
    second = await refreshed(world.client, first)
    third = await refreshed(world.client, second)
    assert not await is_over(world.client, third)
    assert await whys(world) == []


async def test_a_second_retry_ends_the_session(world: World, ann: Person) -> None:
    first = await session_of(world)
    await refreshed(world.client, first)
    second = await refreshed(world.client, first)
    assert await is_over(world.client, first)
    assert await is_over(world.client, second)


async def test_a_lost_answer_that_turns_up_after_the_retry_ends_the_session(world: World, ann: Person) -> None:
    first = await session_of(world)
    lost = await refreshed(world.client, first)
    second = await refreshed(world.client, first)
    assert await is_over(world.client, lost)
    assert await is_over(world.client, second)


async def test_a_retry_after_half_a_minute_is_a_replay(world: World, ann: Person, clock: MovableClock) -> None:
    first = await session_of(world)
    second = await refreshed(world.client, first)
    clock.ahead = timedelta(seconds=31)
    assert await is_over(world.client, first)
    assert await is_over(world.client, second)


async def test_two_refreshes_at_once_leave_one_good_token(world: World, ann: Person, settings: Settings) -> None:
    async with running_platform(settings) as other, serving(other) as client:
        for _ in range(5):
            first = await session_of(world)
            answers = await asyncio.gather(refresh(world.client, first), refresh(client, first))
            assert [answer.status_code for answer in answers] == [200, 200]
            good = [await _is_current(world.platform, answer.json()["refresh_token"]) for answer in answers]
            assert sorted(good) == [False, True]


async def test_of_many_refreshes_at_once_none_is_better_off_than_in_turn(world: World, ann: Person) -> None:
    first = await session_of(world)
    answers = await asyncio.gather(*(refresh(world.client, first) for _ in range(6)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 401, 401, 401, 401]
    for answer in answers:
        if answer.status_code == 200:
            assert await is_over(world.client, answer.json()["refresh_token"])


async def _is_current(platform: Platform, token: str) -> bool:
    digest = RefreshToken.read(token).digest
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT 1 FROM sessions WHERE token_digest = %s", (digest,))
        return await cursor.fetchone() is not None


async def test_a_session_ends_after_its_hours_however_often_it_was_refreshed(
    world: World, ann: Person, clock: MovableClock
) -> None:
    token = await session_of(world)
    for hours in (4, 8, 11):
        clock.ahead = timedelta(hours=hours)
        token = await refreshed(world.client, token)
    clock.ahead = timedelta(hours=world.platform.settings.session_hours)
    assert await is_over(world.client, token)
    world.admin.token = await sign_in(world.client, world.admin.email, world.password)
    assert await whys(world) == ["session_ended"]


async def test_a_session_that_has_ended_is_forgotten_by_and_by(world: World, ann: Person, clock: MovableClock) -> None:
    await session_of(world)
    clock.ahead = timedelta(hours=world.platform.settings.session_hours, days=2)
    async with world.platform.transaction(PLATFORM, system_actor("test")) as tx:
        await HousekeepingJob(world.platform).run(tx, "platform")
    async with world.platform.database.connection(PLATFORM) as connection:
        assert await (await select(connection, "SELECT 1 FROM sessions")).fetchone() is None


async def test_signing_out_ends_the_session_on_every_replica(world: World, ann: Person, settings: Settings) -> None:
    first = await session_of(world)
    second = await refreshed(world.client, first)
    async with running_platform(settings) as other, serving(other) as client:
        for token in (second, second):  # again is no error
            assert (await world.client.post("/auth/logout", json={"refresh_token": token})).status_code == 204
        assert await is_over(client, second)
    rows = await world.audit(action="auth_logout")
    assert [(row["resource_id"], row["actor_id"]) for row in rows] == [(ann.id, ann.id)]


async def test_signing_out_with_a_token_of_no_session_is_no_error(world: World) -> None:
    stranger = {"refresh_token": RefreshToken.fresh().text}
    assert (await world.client.post("/auth/logout", json=stranger)).status_code == 204
    assert await world.audit(action="auth_logout") == []


async def test_disabling_the_user_ends_sessions_for_good(world: World, ann: Person) -> None:
    token = await session_of(world)
    path = f"/users/{ann.id}"
    assert (await world.admin.call("PATCH", path, json={"disabled": True})).status_code == 200
    assert await is_over(world.client, token)
    assert (await world.admin.call("PATCH", path, json={"disabled": False})).status_code == 200
    assert await is_over(world.client, token)


@pytest.mark.parametrize("by", ["the user", "an administrator"])
async def test_a_new_password_ends_sessions(world: World, ann: Person, by: str) -> None:
    token = await session_of(world)
    if by == "the user":
        body = {"current_password": PASSWORD, "new_password": "another fine phrase"}
        assert (await ann.call("POST", "/me/password", json=body)).status_code == 204
    else:
        body = {"reset_password": True}  # type: ignore[dict-item]
        assert (await world.admin.call("PATCH", f"/users/{ann.id}", json=body)).status_code == 200
    assert await is_over(world.client, token)


async def test_a_service_account_gets_no_session(world: World) -> None:
    project = await world.project(await world.tenant("acme"), "vision")
    made = await world.admin.made(
        f"/projects/{project}/service-accounts", {"name": "ci", "scopes": ["allocations:read"]}
    )
    answer = await account_token(world.client, str(made["id"]), made["key"]["secret"])  # type: ignore[index]
    assert answer.status_code == 200
    assert (answer.json()["refresh_token"], answer.json()["session_expires_at"]) == (None, None)


async def test_tokens_of_sessions_are_stored_nowhere(world: World, ann: Person) -> None:
    first = await session_of(world)
    headers = {"Idempotency-Key": "the-same-key-again"}
    grant = {"grant_type": "refresh_token", "refresh_token": first}
    answers = [(await world.client.post("/auth/token", json=grant, headers=headers)).json() for _ in range(2)]
    assert answers[0]["refresh_token"] != answers[1]["refresh_token"]
    async with world.platform.database.connection(PLATFORM) as connection:
        assert await (await select(connection, "SELECT 1 FROM idempotency_keys")).fetchone() is None
        cursor = await select(
            connection, "SELECT s::text AS line FROM sessions s UNION SELECT a::text FROM audit_records a"
        )
        everything = "\n".join(row["line"] for row in await cursor.fetchall())
    for text in (first, answers[0]["refresh_token"], answers[1]["refresh_token"]):
        token = RefreshToken.read(text)
        assert text not in everything
        assert token.secret.hex() not in everything
        assert token.family.hex() not in everything


async def test_unknown_tokens_count_against_the_address_and_slow_no_session_behind_it(
    world: World, clock: MovableClock
) -> None:
    world.platform.settings = world.platform.settings.model_copy(update={"refresh_rate_per_minute": 4})
    session = await token_request(world.client, "admin@gpuaas.local", world.password)
    clock.begin_minute()
    answers = [await refresh(world.client, RefreshToken.fresh().text) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [401] * 4 + [429]
    assert answers[-1].json()["code"] == "rate_limited"
    assert (await refresh(world.client, session.json()["refresh_token"])).status_code == 200


async def test_each_session_has_a_rate_of_its_own(world: World, clock: MovableClock) -> None:
    world.platform.settings = world.platform.settings.model_copy(update={"refresh_rate_per_minute": 3})
    grants = [await token_request(world.client, "admin@gpuaas.local", world.password) for _ in range(2)]
    clock.begin_minute()
    busy, other = (answer.json()["refresh_token"] for answer in grants)
    for _ in range(3):
        busy = (await refresh(world.client, busy)).json()["refresh_token"]
    assert (await refresh(world.client, busy)).json()["code"] == "rate_limited"
    assert (await refresh(world.client, other)).status_code == 200
    clock.begin_minute()
    assert (await refresh(world.client, busy)).status_code == 200  # the refusal did not use the token up


@pytest.mark.parametrize(
    "text", ["", "gsr_", "gsr_" + "a" * 63, "gsr_" + "a" * 65, "gsk_" + "a" * 64, "gsr_" + "é" * 64]
)
async def test_what_is_no_refresh_token_is_refused_by_its_form(world: World, text: str) -> None:
    assert (await refresh(world.client, text)).status_code == 422
