"""Presigned requests to an S3-compatible bucket: any server that speaks Signature Version 4 will do."""

import hashlib
import hmac
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from gpuaas_server.kernel.clock import Clock, utc_now
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.outward import OutboundCallFailed, open_call

if TYPE_CHECKING:
    import httpx

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
OWN_SECONDS = 900  # for requests that we make at once
SECONDS = 30.0
NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket. `url` is the server with the bucket as its path, or alone when the host already names the bucket."""

    url: str
    region: str
    access_key: str
    secret_key: str = field(repr=False)


def presign(
    bucket: Bucket,
    method: str,
    key: str,
    now: datetime,
    seconds: int,
    headers: Mapping[str, str] = NOTHING,
    parameters: Mapping[str, str] = NOTHING,
) -> str:
    """Return a URL that is itself the permission: for this method, key, headers and parameters, for so long."""
    parts = urlsplit(bucket.url)
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{stamp[:8]}/{bucket.region}/s3/aws4_request"
    signed = {"host": parts.netloc, **{name.lower(): value for name, value in headers.items()}}
    query = {
        **parameters,
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


class BucketRequests:
    """Sends our own requests to a bucket."""

    def __init__(self, bucket: Bucket, clock: Clock = utc_now) -> None:
        self.bucket = bucket
        self._clock = clock

    def presigned(
        self,
        method: str,
        key: str,
        seconds: int,
        headers: Mapping[str, str] = NOTHING,
        parameters: Mapping[str, str] = NOTHING,
    ) -> str:
        return presign(self.bucket, method, key, self._clock(), seconds, headers, parameters)

    async def send(
        self,
        method: str,
        key: str,
        headers: Mapping[str, str] = NOTHING,
        parameters: Mapping[str, str] = NOTHING,
        body: bytes = b"",
        seconds: float = SECONDS,
    ) -> tuple[int, bytes]:
        """Send a request and return status and body of its answer: a success, or 404."""
        async with self.open(method, key, headers, parameters, body, seconds) as answer:
            content = await answer.aread()
            if b"<Error>" in content and answer.status_code == 200:
                raise Problem("storage_unavailable", "The blob store did not finish a request.")  # S3 says so in a 200
            return answer.status_code, content

    @asynccontextmanager
    async def open(
        self,
        method: str,
        key: str,
        headers: Mapping[str, str] = NOTHING,
        parameters: Mapping[str, str] = NOTHING,
        body: bytes = b"",
        seconds: float = SECONDS,
    ) -> AsyncIterator["httpx.Response"]:
        """Yield the answer when it is a success or a 404. Any other answer counts as a store that is unavailable."""
        url = self.presigned(method, key, OWN_SECONDS, headers, parameters)
        try:
            async with (
                open_call(seconds) as client,
                client.stream(method, url, headers=dict(headers), content=body or None) as answer,
            ):
                if answer.status_code != 404 and not answer.is_success:
                    raise Problem("storage_unavailable", f"The blob store answered {answer.status_code}.")
                yield answer
        except OutboundCallFailed as error:
            raise Problem("storage_unavailable", "The blob store cannot be reached.") from error
