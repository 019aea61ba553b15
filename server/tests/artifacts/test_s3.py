"""Blobs in a bucket: the published example of a presigned URL, and the whole way against a real S3 server.

The server is SeaweedFS, which checks every signature.
"""

import secrets
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from gpuaas_server.artifacts.s3 import Bucket, presign
from gpuaas_server.artifacts.s3_store import S3Store
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from tests_support.artifacts import Workshop, digest_of, workshop
from tests_support.buckets import S3Server, running_s3

SECRET_KEY = secrets.token_hex(16)
CONTENT = b"bytes for a bucket " * 5000


def test_a_presigned_url_is_the_one_of_the_published_example() -> None:
    bucket = Bucket(
        "https://examplebucket.s3.amazonaws.com",
        "us-east-1",
        "AKIAIOSFODNN7EXAMPLE",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    )
    url = presign(bucket, "GET", "test.txt", datetime(2013, 5, 24, tzinfo=UTC), 86400)
    assert url.endswith("X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[S3Server]:
    with running_s3(tmp_path, SECRET_KEY) as server:
        yield server


@pytest.fixture
async def shop_with_bucket(settings: Settings, s3: S3Server) -> AsyncIterator[Workshop]:
    bucket = s3.bucket()
    more = {
        "s3_bucket_url": bucket.url,
        "s3_access_key": SecretStr(bucket.access_key),
        "s3_secret_key": SecretStr(bucket.secret_key),
    }
    async with (
        running_platform(settings.model_copy(update=more)) as platform,
        workshop(platform) as opened,
    ):
        yield opened


async def fetched(url: str) -> bytes:
    async with httpx.AsyncClient(timeout=60) as outside:
        return (await outside.get(url)).content


async def test_bytes_go_straight_to_the_bucket_and_come_back_from_it(shop_with_bucket: Workshop, s3: S3Server) -> None:
    shop = shop_with_bucket
    artifact = await shop.publish_blob(CONTENT)
    assert (artifact["digest"], artifact["size_bytes"]) == (digest_of(CONTENT), len(CONTENT))
    assert s3.kept() == [CONTENT]
    answer = await shop.admin.call("GET", f"{shop.path}/artifacts/{artifact['id']}/content")
    assert answer.status_code == 307
    assert await fetched(answer.headers["location"]) == CONTENT


async def test_the_upload_url_changes_nothing_of_what_was_checked(shop_with_bucket: Workshop, s3: S3Server) -> None:
    shop = shop_with_bucket
    intent = await shop.intend()
    await shop.upload(intent, CONTENT)
    await shop.complete(intent, digest_of(CONTENT))
    await shop.work()
    registered = await shop.intent(intent)
    await shop.upload(intent, b"something else, by the URL that is still good")
    answer = await shop.admin.call("GET", f"{shop.path}/artifacts/{registered['artifact_id']}/content")
    assert await fetched(answer.headers["location"]) == CONTENT


async def test_a_mismatch_leaves_nothing_in_the_bucket(shop_with_bucket: Workshop, s3: S3Server) -> None:
    shop = shop_with_bucket
    intent = await shop.intend()
    await shop.upload(intent, CONTENT)
    await shop.complete(intent, digest_of(b"other"))
    await shop.work()
    assert (await shop.intent(intent))["failure"]["code"] == "digest_mismatch"
    await shop.work()
    assert s3.kept() == []


async def test_a_wrong_secret_and_a_bucket_away_have_a_coded_answer(s3: S3Server) -> None:
    with pytest.raises(Problem) as refused:
        await S3Store(s3.bucket("another secret")).measure("blobs/x")
    assert (refused.value.code, refused.value.detail) == ("storage_unavailable", "The blob store answered 403.")
    s3.stop()
    with pytest.raises(Problem) as away:
        await S3Store(s3.bucket()).measure("blobs/x")
    assert away.value.kind.retryable


async def test_while_the_bucket_is_away_the_intent_waits_and_says_so(shop_with_bucket: Workshop, s3: S3Server) -> None:
    shop = shop_with_bucket
    intent = await shop.intend()
    await shop.upload(intent, CONTENT)
    await shop.complete(intent, digest_of(CONTENT))
    s3.stop()
    await shop.work()
    waiting = await shop.intent(intent)
    assert (waiting["state"], waiting["failure"]["code"]) == ("verifying", "storage_unavailable")
