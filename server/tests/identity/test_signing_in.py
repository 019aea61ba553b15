"""Signing in: passwords, lockout, rate limit, and what is kept."""

import asyncio
import time
from datetime import timedelta

import httpx
import pytest

from gpuaas_server.identity.passwords import password_matches, weakness
from gpuaas_server.identity.service import Administrator, ensure_first_admin
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from tests_support.people import PASSWORD, MovableClock, World, serving, sign_in, token_request
from tests_support.select import select


async def fail(world: World, times: int, username: str = "ann@acme.test") -> httpx.Response:
    for _ in range(times):
        answer = await token_request(world.client, username, "wrong password, alas")
    return answer


async def test_me_names_the_first_administrator_and_their_role(world: World) -> None:
    me = (await world.admin.get("/me")).json()
    assert me["email"] == "admin@gpuaas.local"
    assert me["roles"] == [{"role": "platform_admin", "tenant_id": None, "project_id": None}]


async def test_two_replicas_that_start_together_make_one_administrator_and_one_key(
    settings: Settings,
) -> None:
    async with running_platform(settings) as one, running_platform(settings) as two:
        made = await asyncio.gather(ensure_first_admin(one), ensure_first_admin(two), ensure_first_admin(one))
        async with serving(one) as first, serving(two) as second:
            keys = [(await client.get("/auth/jwks")).json()["keys"] for client in (first, second)]
    assert len([admin for admin in made if isinstance(admin, Administrator)]) == 1
    assert keys[0] == keys[1]
    assert len(keys[0]) == 1


async def test_the_e_mail_address_is_not_case_sensitive(world: World) -> None:
    tenant = await world.tenant("acme")
    await world.person("Ann@Acme.test", tenant)
    assert await sign_in(world.client, "ANN@acme.TEST")


async def test_a_wrong_password_and_an_unknown_user_get_the_same_answer(world: World) -> None:
    tenant = await world.tenant("acme")
    await world.person("ann@acme.test", tenant)
    known, unknown = await fail(world, 1), await fail(world, 1, "nobody@acme.test")
    assert known.status_code == unknown.status_code == 401
    assert known.headers["www-authenticate"].startswith("Bearer")
    hidden = ("correlation_id",)
    assert {k: v for k, v in known.json().items() if k not in hidden} == {
        k: v for k, v in unknown.json().items() if k not in hidden
    }


async def test_an_unknown_user_takes_as_long_as_a_wrong_password() -> None:
    started = time.perf_counter()
    assert not await password_matches(None, PASSWORD)
    assert time.perf_counter() - started > 0.005  # argon2 ran


async def test_repeated_failures_lock_the_account_even_for_the_right_password(world: World) -> None:
    tenant = await world.tenant("acme")
    await world.person("ann@acme.test", tenant)
    assert (await fail(world, world.platform.settings.login_attempts)).status_code == 401
    locked = await token_request(world.client, "ann@acme.test", PASSWORD)
    assert (locked.status_code, locked.json()["code"]) == (423, "account_locked")
    assert 0 < int(locked.headers["retry-after"]) <= world.platform.settings.lockout_seconds


async def test_an_unknown_name_locks_too_so_that_a_lock_tells_nothing(world: World) -> None:
    await fail(world, world.platform.settings.login_attempts, "nobody@acme.test")
    assert (await fail(world, 1, "nobody@acme.test")).status_code == 423


async def test_a_lockout_ends_by_itself(world: World, clock: MovableClock) -> None:
    tenant = await world.tenant("acme")
    await world.person("ann@acme.test", tenant)
    await fail(world, world.platform.settings.login_attempts)
    clock.ahead = timedelta(seconds=world.platform.settings.lockout_seconds + 1)
    assert await sign_in(world.client, "ann@acme.test")


async def test_an_administrator_can_unlock(world: World) -> None:
    tenant = await world.tenant("acme")
    ann = await world.person("ann@acme.test", tenant)
    await fail(world, world.platform.settings.login_attempts)
    answer = await world.admin.call("PATCH", f"/tenants/{tenant}/users/{ann.id}", json={"unlock": True})
    assert answer.status_code == 200, answer.text
    assert await sign_in(world.client, "ann@acme.test")


async def test_a_success_forgets_earlier_failures(world: World) -> None:
    tenant = await world.tenant("acme")
    await world.person("ann@acme.test", tenant)
    for _ in range(2):
        await fail(world, world.platform.settings.login_attempts - 1)
        await sign_in(world.client, "ann@acme.test")


async def test_guesses_sent_at_once_lock_like_guesses_in_turn(world: World) -> None:
    tenant = await world.tenant("acme")
    await world.person("ann@acme.test", tenant)
    await asyncio.gather(*(fail(world, 1) for _ in range(12)))
    assert (await token_request(world.client, "ann@acme.test", PASSWORD)).status_code == 423


async def test_people_who_sign_in_at_once_do_not_lock_themselves_out(world: World) -> None:
    tenant = await world.tenant("acme")
    await world.person("ann@acme.test", tenant)
    assert all(await asyncio.gather(*(sign_in(world.client, "ann@acme.test") for _ in range(10))))


async def test_a_lock_counts_across_replicas(settings: Settings, world: World) -> None:
    tenant = await world.tenant("acme")
    await world.person("ann@acme.test", tenant)
    await fail(world, settings.login_attempts)
    async with running_platform(settings) as other, serving(other) as client:
        assert (await token_request(client, "ann@acme.test", PASSWORD)).status_code == 423


async def test_too_many_attempts_from_one_address_are_refused_with_a_time_to_wait(world: World) -> None:
    limit = world.platform.settings.login_rate_per_minute
    world.platform.settings = world.platform.settings.model_copy(update={"login_rate_per_minute": 4})
    for number in range(5):
        answer = await fail(world, 1, f"user{number}@acme.test")
    assert limit > 4
    assert (answer.status_code, answer.json()["code"]) == (429, "rate_limited")
    assert 1 <= int(answer.headers["retry-after"]) <= 60


async def test_a_failed_sign_in_is_in_the_audit_trail_without_the_password(world: World) -> None:
    tenant = await world.tenant("acme")
    ann = await world.person("ann@acme.test", tenant)
    await fail(world, 1)
    rows = await world.audit(action="auth_token", outcome="denied")
    assert [(row["resource_id"], row["tenant_id"]) for row in rows] == [(ann.id, tenant)]
    assert "alas" not in str(rows)


async def test_passwords_and_secrets_are_nowhere_in_the_database_in_clear(world: World) -> None:
    tenant = await world.tenant("acme")
    project = await world.project(tenant, "vision")
    await world.person("ann@acme.test", tenant)
    body = {"name": "ci", "scopes": ["allocations:read"]}
    key = {"Idempotency-Key": "the-first-time"}
    made = await world.admin.call("POST", f"/projects/{project}/service-accounts", json=body, headers=key)
    again = await world.admin.call("POST", f"/projects/{project}/service-accounts", json=body, headers=key)
    assert made.json() == again.json()
    everything = await whole_database(world.platform)
    assert made.json()["key"]["secret"] not in everything
    assert PASSWORD not in everything
    assert "$argon2id$" in everything


async def whole_database(platform: Platform) -> str:
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        text = ""
        for table in [row["tablename"] for row in await cursor.fetchall()]:
            rows = await select(connection, f'SELECT t::text AS line FROM "{table}" t')
            text += "\n".join(row["line"] for row in await rows.fetchall())
    return text


async def test_hashing_a_password_does_not_hold_up_other_calls(world: World) -> None:
    signing = [asyncio.create_task(fail(world, 1, f"u{n}@x.test")) for n in range(10)]
    await asyncio.sleep(0)
    started = time.perf_counter()
    assert (await world.client.get("/auth/jwks")).status_code == 200
    waited = time.perf_counter() - started
    pending = [task for task in signing if not task.done()]
    await asyncio.gather(*signing)
    assert pending, "the jwks answer must not wait for all sign-ins"
    assert waited < 1.0


async def test_changing_the_password_ends_every_token_of_the_user(world: World) -> None:
    tenant = await world.tenant("acme")
    ann = await world.person("ann@acme.test", tenant)
    other = await sign_in(world.client, ann.email)
    body = {"current_password": PASSWORD, "new_password": "another fine phrase"}
    assert (await ann.call("POST", "/me/password", json=body)).status_code == 204
    await asyncio.sleep(0.05)
    for token in (ann.token, other):
        ann.token = token
        assert (await ann.get("/me")).json()["code"] == "token_invalid"
    assert await sign_in(world.client, ann.email, "another fine phrase")


async def test_guessing_the_current_password_with_a_stolen_token_locks_the_account(world: World) -> None:
    tenant = await world.tenant("acme")
    ann = await world.person("ann@acme.test", tenant)
    body = {"current_password": "guess", "new_password": "another fine phrase"}
    for _ in range(world.platform.settings.login_attempts):
        assert (await ann.call("POST", "/me/password", json=body)).status_code == 401
    assert (await ann.call("POST", "/me/password", json=body)).status_code == 423


@pytest.mark.parametrize("password", ["short", "aaaaaaaaaaaaaaa", "Password1234!", "ann@acme.test", "qwertyqwerty"])
def test_a_weak_password_is_refused(password: str) -> None:
    assert weakness(password, "ann@acme.test") is not None


def test_a_phrase_is_a_good_password() -> None:
    assert weakness("three bored owls at noon", "ann@acme.test") is None


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'{"grant_type": "password"}',
        b'{"grant_type": "magic", "username": "a", "password": "b"}',
        b'{"grant_type": "password", "username": "a\\u0000", "password": "b"}',
        b'{"grant_type": "password", "username": "\\ud800", "password": "b"}',
        b'{"grant_type": "password", "username": 1, "password": "b"}',
        b'{"grant_type": "client_credentials", "client_id": "sva_x", "client_secret": "b"}',
    ],
)
async def test_garbage_is_refused_and_never_an_error_of_ours(world: World, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    answer = await world.client.post("/auth/token", content=body, headers=headers)
    assert answer.status_code in (400, 422), answer.text
