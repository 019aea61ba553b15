"""Blobs in an S3-compatible bucket: the publisher writes to it by presigned URLs, we copy, measure and hand out the like."""

import asyncio
from urllib.parse import quote, urlsplit

from gpuaas_server.artifacts.byte_threads import run_in_thread
from gpuaas_server.artifacts.parts import LARGEST_REQUEST, Part, PartedUpload
from gpuaas_server.artifacts.s3 import Bucket, BucketRequests
from gpuaas_server.artifacts.s3_parts import MultipartUploads
from gpuaas_server.artifacts.stores import CHUNK, Measured, Meter, Ticket, settled_key, upload_key
from gpuaas_server.kernel.clock import Clock, utc_now
from gpuaas_server.kernel.errors import Problem

FRUITLESS = 5  # attempts to go on reading without a further byte
PAUSE = 0.5  # seconds between two attempts


class S3Store:
    def __init__(self, bucket: Bucket, clock: Clock = utc_now) -> None:
        self._requests = BucketRequests(bucket, clock)
        self._multipart = MultipartUploads(self._requests)

    def upload_ticket(self, project_id: str, intent_id: str, seconds: int, size_bytes: int | None) -> Ticket | None:
        """Return a ticket for the upload. The length is signed too: the bucket takes neither more nor less."""
        if size_bytes is not None and size_bytes > LARGEST_REQUEST:
            return None
        headers = {} if size_bytes is None else {"Content-Length": str(size_bytes)}
        url = self._requests.presigned("PUT", upload_key(project_id, intent_id), seconds, headers)
        return Ticket("PUT", url, False, headers)

    def part_ticket(self, upload: PartedUpload, part: Part, seconds: int) -> Ticket:
        """Return a ticket for one part of its length. It ends with the upload: what was joined cannot be changed by it."""
        headers = {"Content-Length": str(part.size_bytes)}
        key = settled_key(upload.project_id, upload.intent_id)
        parameters = {"partNumber": str(part.number), "uploadId": upload.name}
        return Ticket("PUT", self._requests.presigned("PUT", key, seconds, headers, parameters), False, headers)

    def download_ticket(self, key: str, path: str, seconds: int) -> Ticket:
        return Ticket("GET", self._requests.presigned("GET", key, seconds), False)

    async def begin_parts(self, project_id: str, intent_id: str) -> str:
        return await self._multipart.begin(settled_key(project_id, intent_id))

    async def abandon_parts(self, project_id: str, intent_id: str, name: str) -> None:
        await self._multipart.abort(settled_key(project_id, intent_id), name)

    async def received_parts(self, upload: PartedUpload, after: int, limit: int) -> dict[int, int] | None:
        key = settled_key(upload.project_id, upload.intent_id)
        found = await self._multipart.parts(key, upload.name, after, limit)
        return None if found is None else {one.number: one.size_bytes for one in found}

    async def join_parts(self, upload: PartedUpload) -> str | None:
        """Let the bucket join the parts. An upload that it does not know any more was joined before, or never came."""
        key = settled_key(upload.project_id, upload.intent_id)
        found = await self._multipart.all_parts(key, upload.name)
        if found is not None:
            if upload.layout.missing({one.number: one.size_bytes for one in found}):
                return None
            await self._multipart.complete(key, upload.name, found)
        return key if await self._status("HEAD", key) == 200 else None

    async def settle(self, project_id: str, intent_id: str) -> str | None:
        """Let the server copy the upload. Its URL may stay valid, for a key that nobody reads any more."""
        source, key = upload_key(project_id, intent_id), settled_key(project_id, intent_id)
        name = f"{urlsplit(self._requests.bucket.url).path.rstrip('/')}/{source}"
        copied, _ = await self._requests.send("PUT", key, {"x-amz-copy-source": quote(name, safe="/-_.~")})
        if copied == 404:
            return key if await self._status("HEAD", key) == 200 else None
        await self._status("DELETE", source)
        return key

    async def measure(self, key: str) -> Measured | None:
        """Read and hash every byte. After a broken connection, go on where it broke."""
        meter, fruitless = Meter(), 0
        while True:
            before = meter.size
            try:
                return meter.measured() if await self._measure_rest(key, meter) else None
            except Problem:
                fruitless = 0 if meter.size > before else fruitless + 1
                if meter.size == 0 or fruitless >= FRUITLESS:
                    raise
            await asyncio.sleep(PAUSE)

    async def _measure_rest(self, key: str, meter: Meter) -> bool:
        """Read from where the meter is to the end; False when there is no such blob."""
        headers = {"Range": f"bytes={meter.size}-"} if meter.size else {}
        async with self._requests.open("GET", key, headers) as answer:
            if answer.status_code == 404:
                return False
            if meter.size and answer.status_code != 206:
                raise Problem("storage_unavailable", "The blob store does not continue a download.")
            async for chunk in answer.aiter_raw(CHUNK):
                await run_in_thread(meter.add, chunk)
        return True

    async def discard(self, project_id: str, intent_id: str) -> None:
        await self._multipart.abort_all(settled_key(project_id, intent_id))
        for key in (upload_key(project_id, intent_id), settled_key(project_id, intent_id)):
            await self._status("DELETE", key)

    async def remove(self, key: str) -> None:
        await self._status("DELETE", key)

    async def _status(self, method: str, key: str) -> int:
        status, _ = await self._requests.send(method, key)
        return status
