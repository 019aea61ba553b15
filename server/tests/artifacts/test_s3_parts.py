"""Uploads in parts to a real S3 server: multipart, aborted when abandoned, and read again over a connection that breaks."""

import os
import secrets
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from gpuaas_server.artifacts import backends, intent_queries, publish_intents
from gpuaas_server.artifacts.parts import Layout, PartedUpload
from gpuaas_server.artifacts.s3_store import S3Store
from gpuaas_server.artifacts.stores import settled_key
from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from tests_support.artifacts import Json, Workshop, digest_of, workshop
from tests_support.buckets import S3Server, running_s3
from tests_support.faulty_proxy import Fault, FaultyProxy, faulty_proxy

PART = 5 << 20  # the smallest that a bucket takes
CONTENT = os.urandom(2 * PART + 1000)


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    folder: Path = tmp_path_factory.mktemp("s3")
    with running_s3(folder, secrets.token_hex(16)) as server:
        yield server


@pytest.fixture
def proxy(s3: S3Server) -> Iterator[FaultyProxy]:
    with faulty_proxy(s3.url) as opened:
        yield opened


@pytest.fixture
async def shop(settings: Settings, s3: S3Server, proxy: FaultyProxy) -> AsyncIterator[Workshop]:
    bucket = s3.bucket(url=proxy.url)
    more = {
        "s3_bucket_url": bucket.url,
        "s3_access_key": SecretStr(bucket.access_key),
        "s3_secret_key": SecretStr(bucket.secret_key),
        "upload_part_bytes": PART,
    }
    async with running_platform(settings.model_copy(update=more)) as platform, workshop(platform) as opened:
        yield opened


async def sent(shop: Workshop, content: bytes = CONTENT) -> Json:
    """An intent whose parts are all there, sent from the last to the first, and one of them twice."""
    intent = await shop.intend(size_bytes=len(content))
    parts = (await shop.parts(intent))["parts"]
    for part in [*reversed(parts), parts[1]]:
        answer = await shop.upload_part(part, content)
        assert answer.status_code == 200, answer.text
    return intent


async def completed(shop: Workshop, intent: Json, digest: str) -> Json:
    answer = await shop.complete(intent, digest)
    assert answer.status_code == 200, answer.text
    await shop.work()
    await shop.work()
    return await shop.intent(intent)


async def unfinished(s3: S3Server, shop: Workshop, intent: Json) -> list[str]:
    uploads = S3Store(s3.bucket())._multipart
    return await uploads._names(settled_key(shop.project_id, intent["id"]))


async def content_of(shop: Workshop, artifact_id: str) -> bytes:
    answer = await shop.admin.call("GET", f"{shop.path}/artifacts/{artifact_id}/content")
    async with httpx.AsyncClient(timeout=60) as outside:
        return (await outside.get(answer.headers["location"])).content


async def upload_of(shop: Workshop, intent: Json) -> PartedUpload:
    async with shop.platform.database.connection(PLATFORM) as connection:
        row = await intent_queries.intent_load(connection, intent["id"])
    assert row is not None
    upload = publish_intents.upload_in_parts(row)
    assert upload is not None
    return upload


async def test_a_blob_in_parts_is_one_object_and_its_urls_change_nothing_more(shop: Workshop, s3: S3Server) -> None:
    intent = await sent(shop)
    assert (await unfinished(s3, shop, intent)) != []
    again = await shop.parts(intent)
    assert [part["received"] for part in again["parts"]] == [True, True, True]
    ticket = S3Store(s3.bucket()).part_ticket(
        await upload_of(shop, intent), Layout(len(CONTENT), PART).parts(0, 1)[0], 60
    )
    ended = await completed(shop, intent, digest_of(CONTENT))
    assert ended["state"] == "registered", ended
    assert await unfinished(s3, shop, intent) == []
    async with httpx.AsyncClient(timeout=60) as outside:
        late = await outside.put(ticket.url, content=bytes(PART), headers=ticket.headers)
    assert late.status_code == 404
    assert await content_of(shop, ended["artifact_id"]) == CONTENT


async def test_a_part_has_the_length_that_was_signed(shop: Workshop) -> None:
    intent = await shop.intend(size_bytes=len(CONTENT))
    first = (await shop.parts(intent))["parts"][0]
    async with httpx.AsyncClient(timeout=60) as outside:
        answer = await outside.put(first["upload"]["url"], content=bytes(PART + 1))
    assert answer.status_code == 403
    refused = await shop.complete(intent, digest_of(CONTENT))
    assert refused.json()["code"] == "upload_incomplete"


async def test_abandoned_parts_are_aborted(shop: Workshop, s3: S3Server) -> None:
    intent = await sent(shop)
    before = len(s3.kept())
    await shop.admin.post(f"{shop.path}/publish-intents/{intent['id']}/cancel", {})
    await shop.work()
    assert await unfinished(s3, shop, intent) == []
    assert len(s3.kept()) < before
    assert (await shop.admin.get(f"{shop.path}/quota"))["artifact_bytes_used"] == 0


async def test_a_lying_digest_leaves_nothing_in_the_bucket(shop: Workshop, s3: S3Server) -> None:
    intent = await sent(shop)
    ended = await completed(shop, intent, digest_of(b"something else"))
    assert (ended["state"], ended["failure"]["code"]) == ("failed", "digest_mismatch")
    assert await unfinished(s3, shop, intent) == []
    assert await S3Store(s3.bucket()).measure(settled_key(shop.project_id, intent["id"])) is None


async def test_a_connection_that_breaks_while_the_bytes_are_read_continues(shop: Workshop, proxy: FaultyProxy) -> None:
    intent = await sent(shop)
    await shop.complete(intent, digest_of(CONTENT))
    store = backends.blob_store(shop.platform.settings)
    key = await store.join_parts(await upload_of(shop, intent))
    assert key is not None
    proxy.carried = 0
    proxy.faults = [Fault(received=PART, closed=True), Fault(busy=True), Fault(received=PART // 2)]
    measured = await store.measure(key)
    assert measured is not None
    assert (measured.digest, measured.size_bytes) == (digest_of(CONTENT), len(CONTENT))
    assert (
        proxy.carried < len(CONTENT) + PART
    )  # the break costs half a part at most; from the beginning, it would be more
    await shop.work()
    assert (await shop.intent(intent))["state"] == "registered"  # joined before: repeating is safe


async def test_a_store_that_answers_503_is_tried_again_later(shop: Workshop, proxy: FaultyProxy) -> None:
    intent = await sent(shop)
    await shop.complete(intent, digest_of(CONTENT))
    proxy.faults = [Fault(busy=True)]
    await shop.work()
    waiting = await shop.intent(intent)
    assert (waiting["state"], waiting["failure"]["code"]) == ("verifying", "storage_unavailable")


async def test_an_expired_url_is_refused_and_a_fresh_one_is_not(shop: Workshop, s3: S3Server) -> None:
    intent = await shop.intend(size_bytes=len(CONTENT))
    first = (await shop.parts(intent))["parts"][0]
    yesterday = S3Store(s3.bucket(), lambda: utc_now() - timedelta(days=1))
    old = yesterday.part_ticket(await upload_of(shop, intent), Layout(len(CONTENT), PART).parts(0, 1)[0], 3600)
    async with httpx.AsyncClient(timeout=60) as outside:
        expired = await outside.put(old.url, content=CONTENT[:PART], headers=old.headers)
    assert expired.status_code == 403
    assert (await shop.upload_part(first, CONTENT)).status_code == 200


async def test_an_upload_that_the_bucket_removed_begins_again(shop: Workshop, s3: S3Server) -> None:
    intent = await sent(shop)
    upload = await upload_of(shop, intent)
    await S3Store(s3.bucket()).abandon_parts(shop.project_id, intent["id"], upload.name)
    refused = await shop.complete(intent, digest_of(CONTENT))
    assert refused.json()["details"]["missing"] == [1, 2, 3]
    parts = (await shop.parts(intent))["parts"]
    assert [part["received"] for part in parts] == [False, False, False]
    for part in parts:
        assert (await shop.upload_part(part, CONTENT)).status_code == 200
    assert (await completed(shop, intent, digest_of(CONTENT)))["state"] == "registered"
