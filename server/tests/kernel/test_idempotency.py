"""Idempotency keys over the whole application: same answer, other body, still running, sealed at rest, expired."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
from starlette.requests import Request
from starlette.types import Message

from gpuaas_server.kernel.caller import NOBODY
from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import Platform, Tx, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.http import idempotency
from gpuaas_server.kernel.http.admissions import Admission
from gpuaas_server.kernel.http.call import Call
from gpuaas_server.kernel.http.expired_keys import expired_keys_forget
from gpuaas_server.kernel.sealer import Sealer
from tests_support import agents
from tests_support.agents import Site
from tests_support.select import select

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


async def test_a_refusal_is_an_answer_and_is_given_again_though_the_reason_is_gone(site: Site) -> None:
    first = (await create(site, "acme"))[1]
    refused = await create(site, "acme", "another-key")
    assert (refused[0], refused[1]["code"]) == (409, "already_exists")
    await rename(site, str(first["id"]), "was-acme")
    again = await create(site, "acme", "another-key")
    assert (again[:2], again[2]) == (refused[:2], True)
    assert (await create(site, "acme", "a-new-key"))[0] == 201


async def test_another_request_under_a_refused_ones_key_is_refused(site: Site) -> None:
    await create(site, "acme")
    await create(site, "acme", "another-key")
    status, problem, _ = await create(site, "better", "another-key")
    assert (status, problem["code"]) == (422, "idempotency_mismatch")


async def test_a_replayed_refusal_is_a_problem_document_with_the_first_ones_correlation(site: Site) -> None:
    await create(site, "acme")
    headers = {"Authorization": f"Bearer {site.admin.token}", "Idempotency-Key": KEY + "-2"}
    body = {"slug": "acme", "name": "N"}
    first = await site.client.post("/tenants", json=body, headers=headers)
    again = await site.client.post("/tenants", json=body, headers=headers)
    assert first.headers["Content-Type"] == again.headers["Content-Type"] == "application/problem+json"
    assert again.json()["correlation_id"] == first.headers["X-Correlation-ID"]


async def test_what_says_nothing_about_the_request_is_not_remembered(site: Site) -> None:
    headers = {"Authorization": "Bearer nonsense", "Idempotency-Key": KEY}
    answer = await site.client.post("/tenants", json={"slug": "acme", "name": "N"}, headers=headers)
    assert answer.status_code == 401
    status, _, replayed = await create(site, "acme")
    assert (status, replayed) == (201, False)


async def test_a_change_against_another_generation_is_another_request(site: Site) -> None:
    tenant = (await create(site, "acme"))[1]["id"]
    headers = {"Authorization": f"Bearer {site.admin.token}", "Idempotency-Key": "a-key-for-the-change"}
    path, body = f"/tenants/{tenant}", {"name": "M"}
    stale = await site.client.patch(path, json=body, headers=headers | {"If-Match": '"7"'})
    assert stale.json()["code"] == "precondition_failed"
    other = await site.client.patch(path, json=body, headers=headers | {"If-Match": '"1"'})
    assert other.json()["code"] == "idempotency_mismatch"


async def rename(site: Site, tenant_id: str, slug: str) -> None:
    async with site.platform.database.connection(PLATFORM) as connection:
        await connection.execute("UPDATE tenants SET slug = %s WHERE id = %s", (slug, tenant_id))


async def test_stored_answers_are_sealed(site: Site, platform: Platform) -> None:
    await create(site, "secretive")
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT body FROM idempotency_keys")
        stored = bytes((await cursor.fetchall())[0]["body"])
    assert b"secretive" not in stored


async def test_what_is_kept_of_a_request_is_of_no_use_without_the_master_key(site: Site, platform: Platform) -> None:
    await create(site, "acme")
    await create(site, "acme", key="another-key")
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT fingerprint FROM idempotency_keys")
        stored = {bytes(row["fingerprint"]) for row in await cursor.fetchall()}
    (kept,) = stored  # equal requests are known again, whatever their key is
    assert kept[1:] not in {plain_hash(b"acme"), plain_hash(body_of("acme"))}
    parts = [b"POST", b"/api/v1/tenants", body_of("acme")]
    assert idempotency.IdempotencyKey("o", "k", parts).fingerprint(Sealer(bytes(32))) != kept


async def test_a_row_of_an_earlier_release_is_an_answer_to_the_same_request_only(
    site: Site, platform: Platform
) -> None:
    first = await create(site, "acme")
    async with platform.database.connection(PLATFORM) as connection:
        plain = plain_hash(b"\n".join([b"POST", b"/api/v1/tenants", body_of("acme")]))
        await connection.execute("UPDATE idempotency_keys SET fingerprint = %s", (plain,))
    assert await create(site, "acme") == (*first[:2], True)
    assert (await create(site, "other"))[1]["code"] == "idempotency_mismatch"


def body_of(slug: str) -> bytes:
    return httpx.Request("POST", "http://test/api/v1/tenants", json={"slug": slug, "name": "N"}).content


def plain_hash(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()


async def test_expired_keys_are_forgotten_in_portions(site: Site, platform: Platform) -> None:
    for name in ("acme", "bolt", "cog"):
        await create(site, name, key=f"key-of-{name}")
    async with platform.transaction(PLATFORM, system_actor("test")) as tx:
        assert await expired_keys_forget(tx, 2) == 0
    platform.clock = lambda: utc_now() + timedelta(hours=25)
    for gone in (2, 1, 0):
        async with platform.transaction(PLATFORM, system_actor("test")) as tx:
            assert await expired_keys_forget(tx, 2) == gone


async def test_a_verb_that_checks_for_replays_itself_must_do_so(platform: Platform) -> None:
    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def forgetful(tx: Tx) -> None:
        tx.audited = True

    request = Request({"type": "http", "method": "POST", "path": "/", "headers": [], "query_string": b""}, receive)
    actor = system_actor("test")
    keyed = idempotency.KeyedRequest(platform, actor, request, KEY, None, admitted=True)
    call = Call(platform, "tenant_create", Admission(actor, PLATFORM, NOBODY), request, keyed, None)
    with pytest.raises(RuntimeError, match=r"call tx\.check_replay"):
        await call.change(forgetful, verb_checks_replay=True)
    assert (await call.change(forgetful)).headers.get("Idempotent-Replayed") is None
    assert (await call.change(forgetful)).headers["Idempotent-Replayed"] == "true"
