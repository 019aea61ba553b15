"""No attempt under a key contradicts what another attempt was told: one of them freezes at each of its awaits in turn.

While it is frozen the world changes so that a second attempt is refused, and then back, so that the frozen one could do
what the second was refused.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

import httpx
import psycopg
import pytest

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from tests_support import agents
from tests_support.agents import Person, Site
from tests_support.freezer import Freezer
from tests_support.select import select

MOST_AWAITS = 200  # no request has as many; it is only an end for the loop
BLOCK = "INSERT INTO tenants (id, slug, name, created_at) VALUES ('tnt_' || %s, %s, 'blocker', now()) ON CONFLICT DO NOTHING"
UNBLOCK = "DELETE FROM tenants WHERE slug = %s AND name = 'blocker'"
NO_ANSWERS = {401, 423, 429, 503}


@dataclass
class Attempts:
    """Attempts at one request under one key, on two apis."""

    caller: Person
    clients: tuple[httpx.AsyncClient, httpx.AsyncClient]
    path: str
    body: dict[str, object]
    key: str
    answers: list[httpx.Response] = field(default_factory=list)

    async def send(self, api: int) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.caller.token}", "Idempotency-Key": self.key}
        answer = await self.clients[api].post(self.path, json=self.body, headers=headers)
        self.answers.append(answer)
        return answer

    def assert_one_truth(self, made: int) -> None:
        """Every answer that is one is the same, and says what there is. Nobody who was refused at the gate is shown more."""
        told = [answer for answer in self.answers if is_answer(answer)]
        assert told
        assert len({(answer.status_code, answer.content) for answer in told}) == 1, [a.text for a in told]
        assert made == (1 if told[0].status_code == 201 else 0), [a.text for a in told]


def is_answer(answer: httpx.Response) -> bool:
    if answer.status_code in NO_ANSWERS:
        return False
    return answer.status_code == 201 or answer.json()["code"] != "idempotency_in_progress"


@pytest.fixture
async def site(platform: Platform) -> AsyncIterator[Site]:
    async with agents.opened(platform) as opened:
        yield opened


@pytest.fixture
async def clients(site: Site, platform: Platform) -> AsyncIterator[tuple[httpx.AsyncClient, httpx.AsyncClient]]:
    async with agents.serving(platform) as second:
        yield site.client, second


async def change(platform: Platform, statement: str, *values: object) -> bool:
    """Whether it could be done now: what the frozen attempt has locked is its own."""
    async with platform.database.connection(PLATFORM) as connection:
        await connection.execute("SET lock_timeout = '50ms'")
        try:
            await connection.execute(statement.encode(), values)
        except psycopg.errors.LockNotAvailable:
            return False
        finally:
            await connection.execute("SET lock_timeout = '5s'")
    return True


async def count(platform: Platform, statement: str, *values: object) -> int:
    async with platform.database.connection(PLATFORM) as connection:
        return len(await (await select(connection, statement, values)).fetchall())


async def overlap(
    attempts: Attempts, at: int, forbid: Callable[[], Awaitable[object]], allow: Callable[[], Awaitable[object]]
) -> httpx.Response | None:
    """The second attempt's answer; None when the first one ended without coming to that await."""
    freezer = Freezer(at)
    first = asyncio.ensure_future(freezer.run(attempts.send(0)))
    frozen = asyncio.create_task(freezer.frozen.wait())
    await asyncio.wait([first, frozen], return_when=asyncio.FIRST_COMPLETED)
    was_frozen = freezer.frozen.is_set()
    frozen.cancel()
    await forbid()
    second = await attempts.send(1)
    await allow()
    freezer.thaw()
    await first
    await attempts.send(1)
    return second if was_frozen else None


async def test_an_attempt_that_wakes_up_does_not_do_what_another_was_refused(
    site: Site, platform: Platform, clients: tuple[httpx.AsyncClient, httpx.AsyncClient]
) -> None:
    seen = set[str]()
    for at in range(1, MOST_AWAITS):
        slug = f"slug-{at}"
        attempts = Attempts(site.admin, clients, "/tenants", {"slug": slug, "name": "N"}, f"the-key-{at:04d}")
        second = await overlap(
            attempts,
            at,
            partial(change, platform, BLOCK, slug, slug),
            partial(change, platform, UNBLOCK, slug),
        )
        attempts.assert_one_truth(await count(platform, "SELECT 1 FROM tenants WHERE slug = %s", slug))
        if second is None:
            break
        seen.add("made" if second.status_code == 201 else second.json()["code"])
    assert {"already_exists", "idempotency_in_progress"} <= seen


async def test_an_attempt_that_wakes_up_does_not_do_what_the_gate_refused_another(
    site: Site, platform: Platform, clients: tuple[httpx.AsyncClient, httpx.AsyncClient]
) -> None:
    tenant = (await site.admin.post("/tenants", {"slug": "acme", "name": "Acme"}))["id"]
    await tenant_admin(site, str(tenant), "deputy@acme.test")  # somebody must stay in charge
    caller, user_id = await tenant_admin(site, str(tenant), "boss@acme.test")
    path = f"/tenants/{tenant}/members/{user_id}"
    seen = set[str]()
    for at in range(1, MOST_AWAITS):
        slug = f"slug-{at}"
        attempts = Attempts(
            caller, clients, f"/tenants/{tenant}/projects", {"slug": slug, "name": "N"}, f"key-{at:05d}"
        )
        made_before = list[int]()

        async def allow(slug: str = slug, made_before: list[int] = made_before) -> None:
            made_before.append(await count(platform, "SELECT 1 FROM projects WHERE slug = %s", slug))
            await answered(site.admin.call("PUT", path, {"role": "tenant_admin"}))

        second = await overlap(attempts, at, lambda: answered(site.admin.call("DELETE", path)), allow)
        made = await count(platform, "SELECT 1 FROM projects WHERE slug = %s", slug)
        if second is None:
            break
        seen.add(str(second.json().get("code", "made")))
        if second.status_code == 403:
            assert [made] == made_before  # what the frozen attempt had not done by then, it does not do
        if made_before == [1]:  # it was done, and that the role is gone since then does not contradict it
            attempts.answers.remove(second)
        attempts.assert_one_truth(made)
    assert {"forbidden", "idempotency_in_progress"} <= seen


async def answered(calling: Awaitable[httpx.Response]) -> None:
    answer = await calling
    assert answer.is_success, answer.text


async def tenant_admin(site: Site, tenant: str, email: str) -> tuple[Person, str]:
    body = {"email": email, "name": "Boss", "password": "a-long-phrase-for-the-boss"}
    user = await site.admin.post(f"/tenants/{tenant}/users", body)
    await answered(site.admin.call("PUT", f"/tenants/{tenant}/members/{user['id']}", {"role": "tenant_admin"}))
    grant = {"grant_type": "password", "username": body["email"], "password": body["password"]}
    token = (await site.client.post("/auth/token", json=grant)).json()["access_token"]
    return Person(site.client, token), str(user["id"])
