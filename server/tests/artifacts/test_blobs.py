"""Blobs: intent, bytes to the store, digest registered and checked against the bytes."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

from gpuaas_server.artifacts import publish_intents, runtime_secrets
from gpuaas_server.artifacts.directory_parts import UNSYNCED
from gpuaas_server.artifacts.jobs import ArtifactCheckJob
from gpuaas_server.artifacts.uploads import paced
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.settings import Settings
from tests_support.agents import MovableClock
from tests_support.artifacts import Workshop, digest_of

CONTENT = b"#!/bin/sh\necho hello\n" * 1000


def stored(settings: Settings) -> list[Path]:
    return [path for path in (settings.data_dir / "artifacts").rglob("*") if path.is_file()]


async def test_a_blob_is_registered_when_its_bytes_are_those_of_the_digest(shop: Workshop, settings: Settings) -> None:
    artifact = await shop.publish_blob(CONTENT)
    assert artifact["digest"] == digest_of(CONTENT)
    assert (artifact["size_bytes"], artifact["stage"], artifact["trust"]) == (len(CONTENT), "draft", "unverified")
    assert [path.read_bytes() for path in stored(settings)] == [CONTENT]


async def test_bytes_larger_than_any_other_body_reach_the_store(shop: Workshop, settings: Settings) -> None:
    content = bytes(range(256)) * 4096 * 5
    assert len(content) > settings.max_body_bytes * 4
    artifact = await shop.publish_blob(content)
    answer = await shop.admin.call("GET", f"{shop.path}/artifacts/{artifact['id']}/content")
    assert (answer.status_code, answer.content) == (200, content)


async def test_another_digest_fails_the_intent_and_leaves_nothing(shop: Workshop, settings: Settings) -> None:
    intent = await shop.intend()
    await shop.upload(intent, CONTENT)
    await shop.complete(intent, digest_of(b"something else"))
    await shop.work()
    ended = await shop.intent(intent)
    assert (ended["state"], ended["failure"]["code"]) == ("failed", "digest_mismatch")
    assert digest_of(CONTENT) in ended["failure"]["message"]
    await shop.work()
    assert stored(settings) == []
    assert (await shop.admin.get(f"{shop.path}/artifacts"))["items"] == []


async def test_fewer_bytes_than_announced_fail_the_intent(shop: Workshop) -> None:
    intent = await shop.intend(size_bytes=len(CONTENT) + 1)
    await shop.upload(intent, CONTENT)
    await shop.complete(intent, digest_of(CONTENT))
    await shop.work()
    assert (await shop.intent(intent))["failure"]["code"] == "digest_mismatch"


async def test_completing_without_bytes_fails_the_intent(shop: Workshop) -> None:
    intent = await shop.intend()
    await shop.complete(intent, digest_of(CONTENT))
    await shop.work()
    assert (await shop.intent(intent))["failure"]["code"] == "upload_missing"


async def test_after_completion_no_more_bytes_are_taken(shop: Workshop, settings: Settings) -> None:
    intent = await shop.intend()
    await shop.upload(intent, CONTENT)
    await shop.complete(intent, digest_of(CONTENT))
    assert (await shop.upload(intent, b"other bytes")).status_code == 409
    await shop.work()
    assert (await shop.intent(intent))["state"] == "registered"
    assert [path.read_bytes() for path in stored(settings)] == [CONTENT]


async def test_bytes_that_come_while_the_intent_goes_on_are_not_kept(shop: Workshop, settings: Settings) -> None:
    intent = await shop.intend()

    async def slowly() -> AsyncIterator[bytes]:
        yield CONTENT
        answer = await shop.admin.call("POST", f"{shop.path}/publish-intents/{intent['id']}/cancel")
        assert answer.status_code == 200
        await shop.work()
        yield CONTENT

    headers = {"Authorization": f"Bearer {shop.admin.token}", "Content-Type": "application/octet-stream"}
    path = intent["upload"]["url"].removeprefix("/api/v1")
    answer = await shop.site.client.put(path, content=slowly(), headers=headers)
    assert (answer.status_code, answer.json()["code"]) in ((409, "conflict"), (503, "storage_unavailable"))
    assert stored(settings) == []


async def test_what_ended_long_ago_is_forgotten_and_the_artifact_stays(shop: Workshop) -> None:
    artifact = await shop.publish_blob(CONTENT)
    async with shop.platform.transaction(PLATFORM, system_actor("test")) as tx:
        assert await publish_intents.intents_forget(tx, tx.now - timedelta(days=1), 10) == 0
        assert await publish_intents.intents_forget(tx, tx.now + timedelta(days=1), 10) == 1
        assert await runtime_secrets.runtime_secrets_forget(tx, tx.now, 10) == 0
    assert (await shop.admin.get(f"{shop.path}/publish-intents"))["items"] == []
    assert (await shop.artifact(artifact["id"]))["digest"] == artifact["digest"]


async def test_an_intent_that_is_not_completed_expires_and_its_bytes_are_removed(
    shop: Workshop, settings: Settings
) -> None:
    clock = MovableClock()
    shop.platform.clock = clock
    intent = await shop.intend()
    await shop.upload(intent, CONTENT)
    clock.ahead = timedelta(minutes=settings.publish_minutes, seconds=1)
    token = await shop.site.client.post("/auth/token", json={})  # the clock moved; the old token ended with it
    assert token.status_code == 422
    await shop.work()
    await shop.work()
    clock.ahead = timedelta()
    ended = await shop.intent(intent)
    assert (ended["state"], ended["failure"]["code"]) == ("expired", "publish_expired")
    assert stored(settings) == []


async def test_a_cancelled_intent_leaves_nothing(shop: Workshop, settings: Settings) -> None:
    intent = await shop.intend()
    await shop.upload(intent, CONTENT)
    answer = await shop.admin.call("POST", f"{shop.path}/publish-intents/{intent['id']}/cancel")
    assert answer.json()["state"] == "cancelled"
    await shop.work()
    assert stored(settings) == []


async def test_the_same_bytes_are_registered_once_in_a_project(shop: Workshop, settings: Settings) -> None:
    await shop.publish_blob(CONTENT)
    again = await shop.intend(name="other")
    await shop.upload(again, CONTENT)
    await shop.complete(again, digest_of(CONTENT))
    await shop.work()
    assert (await shop.intent(again))["failure"]["code"] == "already_exists"
    await shop.work()
    assert len(stored(settings)) == 1


async def test_bytes_that_change_in_the_store_are_found_out(shop: Workshop, settings: Settings) -> None:
    artifact = await shop.publish_blob(CONTENT)
    stored(settings)[0].write_bytes(b"tampered")
    asked = await shop.admin.post(f"{shop.path}/artifacts/{artifact['id']}/verify", {})
    assert asked["checking"]
    await shop.work()
    found = await shop.artifact(artifact["id"])
    assert (found["trust"], found["checking"]) == ("failed_verification", False)
    assert "digest_mismatch" in found["trust_detail"]


async def test_a_revoked_blob_cannot_be_downloaded(shop: Workshop) -> None:
    artifact = await shop.publish_blob(CONTENT)
    path = f"{shop.path}/artifacts/{artifact['id']}"
    revoked = await shop.admin.post(f"{path}/revoke", {"reason": "it holds a key"})
    assert (revoked["trust"], revoked["trust_detail"]) == ("revoked", "revoked: it holds a key")
    assert (await shop.admin.call("GET", f"{path}/content")).json()["code"] == "artifact_revoked"
    await shop.admin.post(f"{path}/verify", {})
    await shop.work()
    assert (await shop.artifact(artifact["id"]))["trust"] == "revoked"


async def test_a_check_that_began_before_a_further_request_does_not_end_it(shop: Workshop) -> None:
    """Whoever adds a signature while the bytes are read waits for a check that has seen the signature."""
    artifact = await shop.publish_blob(b"bytes of a tool\n")
    path, job = f"{shop.path}/artifacts/{artifact['id']}", ArtifactCheckJob()
    async with shop.platform.database.connection(PLATFORM) as connection:
        begun = await job.load(connection, artifact["id"])
    assert begun is not None
    await shop.admin.post(f"{path}/verify", {})
    async with shop.platform.transaction(PLATFORM, system_actor("test")) as tx:
        outcome = await job.act(shop.platform, begun)
        await job.apply(tx, begun, outcome)
    assert (await shop.admin.get(path))["checking"] is True
    await shop.work()
    assert (await shop.admin.get(path))["checking"] is False


async def test_a_sender_goes_on_when_it_is_its_turn() -> None:
    seen: list[object] = []

    async def content() -> AsyncIterator[bytes]:
        for piece in (b"one", b"seven b"):
            seen.append(piece)
            yield piece

    async def wait_turn(size: int) -> None:
        seen.append(size)

    pieces = [piece async for piece in paced(content(), wait_turn)]
    assert pieces == [b"one", b"seven b"]
    assert seen == [b"one", 3, b"seven b", 7]


async def test_a_blob_that_reaches_the_disk_in_portions_is_whole(shop: Workshop, settings: Settings) -> None:
    content = bytes(range(256)) * 4096 * 20
    assert len(content) > 2 * UNSYNCED
    await shop.publish_blob(content)
    assert [path.read_bytes() for path in stored(settings)] == [content]
