"""Sends the bytes of a blob: as a whole, or in parts. Of the parts, only those that have not arrived are sent."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path

import httpx

from gpuaas_sdk.aio.transport import Content
from gpuaas_sdk.errors import Denied, GpuaasError, Problem, RateLimited, ServerFailed, Unreachable
from gpuaas_sdk.files import CHUNK, FileRange, size_of
from gpuaas_sdk.generated.models import PublishIntent, UploadedPart, UploadPart, UploadParts, UploadTicket
from gpuaas_sdk.retries import RetryPolicy

UPLOAD_TIMEOUT = httpx.Timeout(60.0, write=60.0)
PAGE = 100  # parts of which the state is asked at once
RETRY = RetryPolicy(attempts=12, max_delay=20.0)  # about two minutes without any success
BUSY = frozenset({"upload_in_progress", "too_many_uploads"})
Progress = Callable[[int, int], None]  # bytes sent, total bytes
AskParts = Callable[..., Awaitable[UploadParts]]
UploadPartCall = Callable[[str, str, str, Content], Awaitable[UploadedPart]]


class PartSender:
    """Sends the missing parts of one file. What fails is repeated with a fresh URL."""

    def __init__(
        self, intent: PublishIntent, source: Path, progress: Progress, ask_parts: AskParts, upload_part: UploadPartCall
    ) -> None:
        self._intent = intent
        self._source = source
        self._progress = progress
        self._ask_parts = ask_parts
        self._upload_part = upload_part
        self._total = intent.size_bytes or 0
        self._there = 0  # bytes of parts that have arrived

    async def send(self) -> None:
        after = 0
        async with httpx.AsyncClient(timeout=UPLOAD_TIMEOUT) as bucket:
            while self._there < self._total:
                page = await self._ask_parts(self._intent.project_id, self._intent.id, after=after, limit=PAGE)
                if not page.parts:
                    break
                for part in page.parts:
                    if not part.received:
                        await self._send_part(bucket, part)
                    self._there += part.size_bytes
                    self._progress(self._there, self._total)
                    after = part.number

    async def _send_part(self, bucket: httpx.AsyncClient, part: UploadPart) -> None:
        """Sends one part until it has arrived. Its URL may have expired meanwhile, so each attempt has a fresh one."""
        attempt = 0
        while not part.received:
            attempt += 1
            try:
                await self._send_once(bucket, part)
                return
            except GpuaasError as error:
                delay = _delay(error, attempt)
                if delay is None:
                    raise
            await asyncio.sleep(delay)
            part = await self._renewed(part)

    async def _renewed(self, part: UploadPart) -> UploadPart:
        before = part.number - 1
        page = await self._ask_parts(self._intent.project_id, self._intent.id, after=before, limit=1)
        return page.parts[0]

    async def _send_once(self, bucket: httpx.AsyncClient, part: UploadPart) -> None:
        ticket = part.upload
        if ticket is None or ticket.authorised:
            number = str(part.number)
            await self._upload_part(self._intent.project_id, self._intent.id, number, lambda: self._chunks(part))
        else:
            await _put(bucket, ticket, self._chunks(part), part.size_bytes)

    async def _chunks(self, part: UploadPart) -> AsyncIterator[bytes]:
        sent = 0
        with closing(FileRange(self._source, part.offset, part.size_bytes)) as content:
            while chunk := await asyncio.to_thread(content.read, CHUNK):
                yield chunk
                sent += len(chunk)
                self._progress(self._there + sent, self._total)


def _delay(error: GpuaasError, attempt: int) -> float | None:
    """Return the seconds until the next attempt; None if none would help. A URL that has expired is replaced by a fresh one."""
    if isinstance(error, Denied) and error.code == "upload_url_refused":
        return 0.0 if attempt <= 2 else None
    if error.code in BUSY and attempt < RETRY.attempts:
        return 5.0
    return RETRY.delay(error, attempt) if isinstance(error, (Unreachable, ServerFailed, RateLimited)) else None


async def send_to_bucket(ticket: UploadTicket, source: Path, progress: Progress) -> None:
    size = await asyncio.to_thread(size_of, source)
    async with httpx.AsyncClient(timeout=UPLOAD_TIMEOUT) as bucket:
        await _put(bucket, ticket, chunks_of(source, progress), size)


async def chunks_of(source: Path, progress: Progress) -> AsyncIterator[bytes]:
    total, sent = await asyncio.to_thread(size_of, source), 0
    with closing(FileRange(source, 0, total)) as content:
        while chunk := await asyncio.to_thread(content.read, CHUNK):
            yield chunk
            sent += len(chunk)
            progress(sent, total)


async def _put(bucket: httpx.AsyncClient, ticket: UploadTicket, content: AsyncIterator[bytes], size: int) -> None:
    headers = {**ticket.headers, "Content-Length": str(size)}
    try:
        answer = await bucket.request(ticket.method, ticket.url, content=content, headers=headers)
    except httpx.TransportError as error:
        raise _storage_failed(f"The bucket cannot be reached: {type(error).__name__}.") from error
    if answer.status_code == 403:
        raise _url_refused()
    if not answer.is_success:
        raise _storage_failed(f"The bucket answered {answer.status_code}.")


def _url_refused() -> Denied:
    problem = Problem(
        code="upload_url_refused",
        status=403,
        detail="The bucket refused the upload URL. It has expired, or the clocks differ.",
        next_step="Repeat the command: it asks for a fresh URL. If it fails again, tell the platform's operators.",
    )
    return Denied(problem)


def _storage_failed(detail: str) -> ServerFailed:
    problem = Problem(
        code="storage_unavailable",
        status=0,
        detail=detail,
        next_step="Try again: the upload continues where it stopped. If it fails again, tell the platform's operators.",
        retryable=True,
    )
    return ServerFailed(problem)
