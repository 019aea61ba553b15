"""Lockouts per account and network: who knows a name can not lock its owner out, and still gets nowhere."""

import asyncio
from collections.abc import Sequence

import httpx
import pytest

from gpuaas_server.identity import passwords
from gpuaas_server.identity.networks import client_network, rate_source
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings
from tests_support.people import PASSWORD, MovableClock, Person, World, account_token, calling_from, token_request
from tests_support.select import select

ANN = "ann@acme.test"
WRONG = "wrong password, alas"
HOME, NEIGHBOUR, ELSEWHERE = "192.0.2.1", "192.0.2.200", "198.51.100.9"


async def fail_from(
    world: World, addresses: Sequence[str], username: str = ANN, password: str = WRONG
) -> list[httpx.Response]:
    answers = []
    for address in addresses:
        async with calling_from(world.client, address) as client:
            answers.append(await token_request(client, username, password))
    return answers


async def code_from(world: World, address: str, username: str = ANN, password: str = PASSWORD) -> str:
    answer = (await fail_from(world, [address], username, password))[0]
    return "ok" if answer.status_code == 200 else str(answer.json()["code"])


def strange_addresses(count: int) -> list[str]:
    """Each of a network of its own, none of which anybody has signed in from."""
    return [f"203.{number // 250}.{number % 250}.7" for number in range(count)]


@pytest.fixture
async def guessed(world: World, ann: Person, clock: MovableClock) -> World:
    """Ann signed in at home once; then somebody with many addresses guessed at her password, up to the limit."""
    clock.stop()
    world.platform.settings = world.platform.settings.model_copy(update={"login_account_attempts": 6})
    for answer in await fail_from(world, strange_addresses(6)):
        assert answer.json()["code"] == "bad_credentials"
    return world


async def test_failures_of_one_network_lock_the_account_for_that_network_only(world: World, ann: Person) -> None:
    await fail_from(world, [ELSEWHERE] * world.platform.settings.login_attempts)
    assert await code_from(world, ELSEWHERE) == "account_locked"
    assert await code_from(world, "198.51.100.77") == "account_locked", "another address of the same network"
    assert await code_from(world, HOME) == "ok"
    assert await code_from(world, "198.51.101.9") == "ok", "a network that nobody failed from, known or not"


async def test_an_account_is_locked_in_its_own_network_by_failures_there(world: World, ann: Person) -> None:
    await fail_from(world, [NEIGHBOUR] * world.platform.settings.login_attempts)
    assert await code_from(world, HOME) == "account_locked"
    assert await code_from(world, ELSEWHERE) == "ok"


async def test_guessing_from_many_networks_slows_strangers_and_never_a_known_network(guessed: World) -> None:
    answer = (await fail_from(guessed, [ELSEWHERE], password=PASSWORD))[0]
    assert (answer.status_code, answer.json()["code"]) == (423, "account_locked")
    assert answer.headers["retry-after"] == "1"
    assert await code_from(guessed, HOME) == "ok"
    assert await code_from(guessed, NEIGHBOUR) == "ok"


async def test_the_wait_of_strangers_grows_up_to_a_limit_and_always_ends(guessed: World, clock: MovableClock) -> None:
    guessed.platform.settings = guessed.platform.settings.model_copy(update={"login_delay_seconds": 5})
    waits = []
    for address in strange_addresses(12)[6:]:
        answer = (await fail_from(guessed, [address]))[0]
        assert answer.status_code == 423
        waits.append(int(answer.headers["retry-after"]))
        clock.forward(waits[-1])
        assert await code_from(guessed, address, password="wrong again, alas") == "bad_credentials"
    assert waits == [1, 2, 4, 5, 5, 5]
    clock.forward(5)
    assert await code_from(guessed, ELSEWHERE) == "ok", "the owner, from a network that is new"


async def test_guessing_is_reported_once_with_the_user_and_their_tenant(guessed: World, ann: Person) -> None:
    rows = await guessed.audit(action="password_guessing")
    assert [(row["resource_id"], row["details"]["failures"]) for row in rows] == [(ann.id, 6)]  # type: ignore[index]
    async with guessed.platform.database.connection(PLATFORM) as connection:
        cursor = await select(
            connection, "SELECT subject, tenant_id, data FROM events WHERE type = 'user.password_guessing'"
        )
        events = await cursor.fetchall()
    assert [(event["subject"], event["tenant_id"]) for event in events] == [(ann.id, rows[0]["tenant_id"])]
    assert "alas" not in str(events) + str(rows)


async def test_locks_are_counted_by_their_extent(guessed: World) -> None:
    network, account = (metrics.sign_in_locks.labels(extent)._value.get() for extent in ("network", "account"))
    await fail_from(guessed, [HOME] * guessed.platform.settings.login_attempts)
    assert metrics.sign_in_locks.labels("network")._value.get() == network + 1
    assert metrics.sign_in_locks.labels("account")._value.get() == account, "a known network's failures stay there"


async def test_an_unknown_name_is_slowed_like_a_known_one(guessed: World) -> None:
    """What a stranger sees of both is the same, request by request."""
    nobody = await fail_from(guessed, strange_addresses(6), "nobody@acme.test")
    assert {answer.json()["code"] for answer in nobody} == {"bad_credentials"}
    ann, unknown = await fail_from(guessed, [ELSEWHERE]), await fail_from(guessed, [ELSEWHERE], "nobody@acme.test")
    for one, other in zip(ann, unknown, strict=True):
        assert (one.status_code, one.json()["code"]) == (other.status_code, other.json()["code"])
        assert one.headers["retry-after"] == other.headers["retry-after"]


async def test_a_network_is_known_for_a_while_after_a_good_sign_in(guessed: World, clock: MovableClock) -> None:
    clock.forward(guessed.platform.settings.login_known_days * 86400 + 1)
    await fail_from(guessed, strange_addresses(6))
    assert await code_from(guessed, HOME) == "account_locked"


async def test_an_unlocked_user_is_unlocked_in_every_network(guessed: World, ann: Person) -> None:
    tenant = (await guessed.admin.get(f"/users/{ann.id}")).json()["tenant_id"]
    operator = await guessed.person("op@gpuaas.test", role="platform_operator")
    chief = await guessed.person("chief@acme.test", tenant, "tenant_admin")
    for who, path in ((operator, f"/users/{ann.id}/unlock"), (chief, f"/tenants/{tenant}/users/{ann.id}/unlock")):
        await fail_from(guessed, [HOME] * 5)
        assert await code_from(guessed, HOME) == "account_locked"
        assert (await who.call("POST", path)).status_code == 200
        assert await code_from(guessed, HOME) == "ok"
        assert await code_from(guessed, ELSEWHERE) == "ok"
    assert (await ann.call("POST", f"/tenants/{tenant}/users/{ann.id}/unlock")).status_code == 403


async def test_others_behind_one_address_do_not_use_up_the_rate_of_a_known_account(
    world: World, ann: Person, clock: MovableClock
) -> None:
    world.platform.settings = world.platform.settings.model_copy(update={"login_rate_per_minute": 4})
    clock.begin_minute()
    codes = [await code_from(world, HOME, f"user{number}@acme.test") for number in range(5)]
    assert codes == ["bad_credentials"] * 4 + ["rate_limited"]
    assert [await code_from(world, HOME) for _ in range(5)] == ["ok"] * 4 + ["rate_limited"]


async def test_wrong_secrets_throttle_neither_their_own_account_nor_another(world: World, clock: MovableClock) -> None:
    world.platform.settings = world.platform.settings.model_copy(update={"login_rate_per_minute": 3})
    project = await world.project(await world.tenant("acme"), "vision")
    path, scopes = f"/projects/{project}/service-accounts", ["projects:read"]
    made = [await world.admin.made(path, {"name": name, "scopes": scopes}) for name in ("one", "two")]
    ids, secrets = [str(one["id"]) for one in made], [str(one["key"]["secret"]) for one in made]  # type: ignore[index]
    clock.begin_minute()
    wrong = [(await account_token(world.client, ids[0], "gsk_wrong")).status_code for _ in range(4)]
    assert wrong == [401, 401, 401, 429]
    assert (await account_token(world.client, ids[1], "gsk_wrong")).status_code == 401
    for account_id, secret in zip(ids, secrets, strict=True):
        assert (await account_token(world.client, account_id, secret)).status_code == 200


async def test_each_service_account_has_a_rate_of_its_own_in_each_network(world: World, clock: MovableClock) -> None:
    world.platform.settings = world.platform.settings.model_copy(update={"service_rate_per_minute": 2})
    project = await world.project(await world.tenant("acme"), "vision")
    body = {"name": "ci", "scopes": ["projects:read"]}
    made = await world.admin.made(f"/projects/{project}/service-accounts", body)
    account_id, secret = str(made["id"]), str(made["key"]["secret"])  # type: ignore[index]
    clock.begin_minute()
    answers = [(await account_token(world.client, account_id, secret)).status_code for _ in range(3)]
    assert answers == [200, 200, 429]
    async with calling_from(world.client, ELSEWHERE) as client:
        assert (await account_token(client, account_id, secret)).status_code == 200


async def test_a_full_queue_refuses_strangers_first_and_says_when_to_come_again(
    world: World, ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passwords, "queue", passwords.PasswordQueue(threads=1, most=2, reserved=1))
    monkeypatch.setattr(passwords.queue, "length", 1)
    busy = (await fail_from(world, [ELSEWHERE]))[0]
    assert (busy.status_code, busy.json()["code"], busy.headers["retry-after"]) == (503, "sign_in_busy", "2")
    assert await code_from(world, HOME) == "ok"
    monkeypatch.setattr(passwords.queue, "length", 2)
    assert await code_from(world, HOME) == "sign_in_busy"
    assert await world.audit(action="auth_token", outcome="denied") == [], "what was not checked is no failure"


async def test_a_caller_who_hangs_up_leaves_the_queue_when_the_work_has_ended() -> None:
    queue, go, begun = passwords.PasswordQueue(threads=1, most=1, reserved=0), asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(begun.set)
        asyncio.run_coroutine_threadsafe(go.wait(), loop).result()

    task = asyncio.create_task(queue.run(False, work))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(Problem, match="sign_in_busy"):
        await queue.run(True, work)
    go.set()
    while queue.length:
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("address", "network", "source"),
    [
        ("198.51.100.9", "198.51.100.0/24", "198.51.100.9/32"),
        ("::ffff:198.51.100.9", "198.51.100.0/24", "198.51.100.9/32"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64", "fe80::/64"),
        ("", "unknown", "unknown"),
        ("no address", "unknown", "unknown"),
    ],
)
def test_an_address_belongs_to_a_network(settings: Settings, address: str, network: str, source: str) -> None:
    assert client_network(address, settings) == network
    assert rate_source(address, settings) == source
