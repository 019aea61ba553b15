"""Blobs in an S3-compatible bucket: the publisher writes to it by a presigned URL, we copy, measure and hand out the like.

Only the four plain requests are used, so any server that speaks Signature Version 4 will do.
"""

import hashlib
import hmac
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from gpuaas_server.artifacts.byte_threads import run_in_thread
from gpuaas_server.artifacts.stores import CHUNK, Measured, Meter, Ticket, settled_key, upload_key
from gpuaas_server.kernel.clock import Clock, utc_now
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.outward import CallFailed, calling

if TYPE_CHECKING:
    import httpx

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
OWN_SECONDS = 900  # for requests that we make at once
SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket. `url` is the server with the bucket as its path, or alone when the host already names the bucket."""

    url: str
    region: str
    access_key: str
    secret_key: str


def presign(
    bucket: Bucket, method: str, key: str, now: datetime, seconds: int, headers: Mapping[str, str] | None = None
) -> str:
    """Return a URL that is itself the permission: for this method, key and headers, for so long."""
    parts = urlsplit(bucket.url)
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{bucket.region}/s3/aws4_request"
    signed = {"host": parts.netloc, **{name.lower(): value for name, value in (headers or {}).items()}}
    query = {
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": f"{bucket.access_key}/{scope}",
        "X-Amz-Date": stamp,
        "X-Amz-Expires": str(seconds),
        "X-Amz-SignedHeaders": ";".join(sorted(signed)),
    }
    path = quote(f"{parts.path.rstrip('/')}/{key}", safe="/-_.~")
    asked = "&".join(f"{quote(name, safe='-_.~')}={quote(query[name], safe='-_.~')}" for name in sorted(query))
    signed_headers = "".join(f"{name}:{signed[name].strip()}\n" for name in sorted(signed))
    request = "\n".join((method, path, asked, signed_headers, query["X-Amz-SignedHeaders"], UNSIGNED))
    text = "\n".join((ALGORITHM, stamp, scope, hashlib.sha256(request.encode()).hexdigest()))
    signature = hmac.new(_day_key(bucket, stamp[:8]), text.encode(), hashlib.sha256).hexdigest()
    return f"{parts.scheme}://{parts.netloc}{path}?{asked}&X-Amz-Signature={signature}"


def _day_key(bucket: Bucket, day: str) -> bytes:
    key = f"AWS4{bucket.secret_key}".encode()
    for part in (day, bucket.region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


class S3Store:
    def __init__(self, bucket: Bucket, clock: Clock = utc_now) -> None:
        self._bucket = bucket
        self._clock = clock

    def upload_ticket(self, project_id: str, intent_id: str, seconds: int, size_bytes: int | None) -> Ticket:
        """Return a ticket for the upload. The length is signed too: the bucket takes neither more nor less."""
        key = upload_key(project_id, intent_id)
        headers = {} if size_bytes is None else {"Content-Length": str(size_bytes)}
        return Ticket("PUT", presign(self._bucket, "PUT", key, self._clock(), seconds, headers), False, headers)

    def download_ticket(self, key: str, path: str, seconds: int) -> Ticket:
        return Ticket("GET", presign(self._bucket, "GET", key, self._clock(), seconds), False)

    async def settle(self, project_id: str, intent_id: str) -> str | None:
        """Let the server copy the upload. Its URL may stay valid, for a key that nobody reads any more."""
        source, key = upload_key(project_id, intent_id), settled_key(project_id, intent_id)
        name = f"{urlsplit(self._bucket.url).path.rstrip('/')}/{source}"
        copied = await self._send("PUT", key, {"x-amz-copy-source": quote(name, safe="/-_.~")})
        if copied == 404:
            return key if await self._send("HEAD", key) == 200 else None
        await self._send("DELETE", source)
        return key

    async def measure(self, key: str) -> Measured | None:
        meter = Meter()
        async with self._request("GET", key) as answer:
            if answer.status_code == 404:
                return None
            async for chunk in answer.aiter_raw(CHUNK):
                await run_in_thread(meter.add, chunk)
        return meter.measured()

    async def discard(self, project_id: str, intent_id: str) -> None:
        for key in (upload_key(project_id, intent_id), settled_key(project_id, intent_id)):
            await self._send("DELETE", key)

    async def remove(self, key: str) -> None:
        await self._send("DELETE", key)

    async def _send(self, method: str, key: str, headers: Mapping[str, str] | None = None) -> int:
        async with self._request(method, key, headers) as answer:
            body = await answer.aread()
            if b"<Error>" in body and answer.status_code == 200:
                raise Problem("storage_unavailable", "The blob store did not finish a copy.")  # S3 says so in a 200
            return answer.status_code

    @asynccontextmanager
    async def _request(
        self, method: str, key: str, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator["httpx.Response"]:
        """Yield the answer when it is a success or a 404. Any other answer counts as a store that is away."""
        url = presign(self._bucket, method, key, self._clock(), OWN_SECONDS, headers)
        try:
            async with (
                calling(SECONDS) as client,
                client.stream(method, url, headers=dict(headers or {})) as answer,
            ):
                if answer.status_code != 404 and not answer.is_success:
                    raise Problem("storage_unavailable", f"The blob store answered {answer.status_code}.")
                yield answer
        except CallFailed as error:
            raise Problem("storage_unavailable", "The blob store cannot be reached.") from error
