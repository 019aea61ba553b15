"""Idempotency keys over the whole application: same answer, other body, still running, sealed at rest, expired."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.http import idempotency
from tests_support import agents
from tests_support.agents import Site

KEY = "key-of-a-test"


@pytest.fixture
async def site(platform: Platform) -> AsyncIterator[Site]:
    async with agents.opened(platform) as opened:
        yield opened


async def create(site: Site, slug: str, key: str = KEY) -> tuple[int, dict[str, object], bool]:
    headers = {"Authorization": f"Bearer {site.admin.token}", "Idempotency-Key": key}
    answer = await site.client.post("/tenants", json={"slug": slug, "name": "N"}, headers=headers)
    return answer.status_code, answer.json(), answer.headers.get("Idempotent-Replayed") == "true"


async def test_the_same_request_gets_the_same_answer_and_happens_once(site: Site) -> None:
    first, again = await create(site, "acme"), await create(site, "acme")
    assert first[:2] == again[:2]
    assert (first[2], again[2]) == (False, True)
    assert len((await site.admin.get("/tenants"))["items"]) == 1


async def test_another_request_with_the_same_key_is_refused(site: Site) -> None:
    await create(site, "acme")
    status, problem, _ = await create(site, "other")
    assert (status, problem["code"]) == (422, "idempotency_mismatch")


async def test_two_at_once_make_one_thing(site: Site) -> None:
    answers = await asyncio.gather(*(create(site, "acme") for _ in range(6)))
    assert {status for status, _, _ in answers} <= {201, 409}
    assert all(body["code"] == "idempotency_in_progress" for status, body, _ in answers if status == 409)
    assert len((await site.admin.get("/tenants"))["items"]) == 1


async def test_a_refused_request_is_not_remembered(site: Site) -> None:
    await create(site, "acme")
    assert (await create(site, "acme", "another-key"))[0] == 409
    status, _, replayed = await create(site, "better", "another-key")
    assert (status, replayed) == (201, False)


async def test_stored_answers_are_sealed(site: Site, platform: Platform) -> None:
    await create(site, "secretive")
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await connection.execute("SELECT body FROM idempotency_keys")
        stored = bytes((await cursor.fetchall())[0]["body"])
    assert b"secretive" not in stored


async def test_expired_keys_are_forgotten_in_portions(site: Site, platform: Platform) -> None:
    for name in ("acme", "bolt", "cog"):
        await create(site, name, key=f"key-of-{name}")
    async with platform.transaction(PLATFORM, system_actor("test")) as tx:
        assert await idempotency.forget_expired(tx, 2) == 0
    platform.clock = lambda: utc_now() + timedelta(hours=25)
    for gone in (2, 1, 0):
        async with platform.transaction(PLATFORM, system_actor("test")) as tx:
            assert await idempotency.forget_expired(tx, 2) == gone
