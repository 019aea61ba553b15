"""Blobs in a bucket: the published example of a presigned URL, and the whole way against a real S3 server.

The server is versitygw, which checks every signature. Where it is not installed (tools/test-parts), those tests are skipped.
"""

import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from gpuaas_server.artifacts.s3 import Bucket, S3Store, presign
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from tests_support.artifacts import Workshop, digest_of, workshop
from tests_support.parts import part

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


@dataclass
class S3Server:
    url: str
    directory: Path
    process: subprocess.Popen[bytes]

    def bucket(self, secret_key: str | None = None) -> Bucket:
        return Bucket(f"{self.url}/artifacts", "us-east-1", "tester", secret_key or SECRET_KEY)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[S3Server]:
    gateway = part("versitygw")
    root = tmp_path / "s3"
    (root / "artifacts").mkdir(parents=True)
    port = _free_port()
    environment = {**os.environ, "ROOT_ACCESS_KEY": "tester", "ROOT_SECRET_KEY": SECRET_KEY}
    process = subprocess.Popen(
        [gateway, "--quiet", "--port", f"127.0.0.1:{port}", "posix", str(root)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 20
        while True:
            try:
                httpx.get(f"http://127.0.0.1:{port}/")
                break
            except httpx.TransportError:
                assert time.monotonic() < deadline, "the S3 server did not start"
                time.sleep(0.05)
        yield S3Server(f"http://127.0.0.1:{port}", root, process)
    finally:
        process.kill()
        process.wait(10)
        shutil.rmtree(root, ignore_errors=True)


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


def kept(s3: S3Server) -> list[bytes]:
    return [path.read_bytes() for path in (s3.directory / "artifacts").rglob("*") if path.is_file()]


async def fetched(url: str) -> bytes:
    async with httpx.AsyncClient() as outside:
        return (await outside.get(url)).content


async def test_bytes_go_straight_to_the_bucket_and_come_back_from_it(shop_with_bucket: Workshop, s3: S3Server) -> None:
    shop = shop_with_bucket
    artifact = await shop.publish_blob(CONTENT)
    assert (artifact["digest"], artifact["size_bytes"]) == (digest_of(CONTENT), len(CONTENT))
    assert kept(s3) == [CONTENT]
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
    assert kept(s3) == []


async def test_a_wrong_secret_and_a_bucket_away_have_a_coded_answer(s3: S3Server) -> None:
    with pytest.raises(Problem) as refused:
        await S3Store(s3.bucket("another secret")).measure("blobs/x")
    assert (refused.value.code, refused.value.detail) == ("storage_unavailable", "The blob store answered 403.")
    s3.process.kill()
    s3.process.wait(10)
    with pytest.raises(Problem) as away:
        await S3Store(s3.bucket()).measure("blobs/x")
    assert away.value.kind.retryable


async def test_while_the_bucket_is_away_the_intent_waits_and_says_so(shop_with_bucket: Workshop, s3: S3Server) -> None:
    shop = shop_with_bucket
    intent = await shop.intend()
    await shop.upload(intent, CONTENT)
    await shop.complete(intent, digest_of(CONTENT))
    s3.process.kill()
    s3.process.wait(10)
    await shop.work()
    waiting = await shop.intent(intent)
    assert (waiting["state"], waiting["failure"]["code"]) == ("verifying", "storage_unavailable")
