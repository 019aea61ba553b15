# Derived from gpuaas_sdk/aio/blob_uploads.py by tools/sdk-client; change that file instead.
"""Sends the bytes of a blob: as a whole, or in parts. Of the parts, only those that have not arrived are sent."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx

from gpuaas_sdk.errors import Denied, GpuaasError, Problem, RateLimited, ServerFailed, Unreachable
from gpuaas_sdk.files import CHUNK, FileRange, size_of
from gpuaas_sdk.generated.models import PublishIntent, UploadedPart, UploadPart, UploadParts, UploadTicket
from gpuaas_sdk.retries import RetryPolicy
from gpuaas_sdk.sync.transport import Content

UPLOAD_TIMEOUT = httpx.Timeout(60.0, write=60.0)
PAGE = 100  # parts of which the state is asked at once
RETRY = RetryPolicy(attempts=12, max_delay=20.0)  # about two minutes without any success
BUSY = frozenset({"upload_in_progress", "too_many_uploads"})
Progress = Callable[[int, int], None]  # bytes sent, total bytes
AskParts = Callable[..., UploadParts]
UploadPartCall = Callable[[str, str, str, Content], UploadedPart]


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

    def send(self) -> None:
        after = 0
        with httpx.Client(timeout=UPLOAD_TIMEOUT) as bucket:
            while self._there < self._total:
                page = self._ask_parts(self._intent.project_id, self._intent.id, after=after, limit=PAGE)
                if not page.parts:
                    break
                for part in page.parts:
                    if not part.received:
                        self._send_part(bucket, part)
                    self._there += part.size_bytes
                    self._progress(self._there, self._total)
                    after = part.number

    def _send_part(self, bucket: httpx.Client, part: UploadPart) -> None:
        """Sends one part until it has arrived. Its URL may have expired meanwhile, so each attempt has a fresh one."""
        attempt = 0
        while not part.received:
            attempt += 1
            try:
                self._send_once(bucket, part)
                return
            except GpuaasError as error:
                delay = _delay(error, attempt)
                if delay is None:
                    raise
            time.sleep(delay)
            part = self._renewed(part)

    def _renewed(self, part: UploadPart) -> UploadPart:
        before = part.number - 1
        page = self._ask_parts(self._intent.project_id, self._intent.id, after=before, limit=1)
        return page.parts[0]

    def _send_once(self, bucket: httpx.Client, part: UploadPart) -> None:
        ticket = part.upload
        if ticket is None or ticket.authorised:
            number = str(part.number)
            self._upload_part(self._intent.project_id, self._intent.id, number, lambda: self._chunks(part))
        else:
            _put(bucket, ticket, self._chunks(part), part.size_bytes)

    def _chunks(self, part: UploadPart) -> Iterator[bytes]:
        sent = 0
        with closing(FileRange(self._source, part.offset, part.size_bytes)) as content:
            while chunk := content.read(CHUNK):
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


def send_to_bucket(ticket: UploadTicket, source: Path, progress: Progress) -> None:
    size = size_of(source)
    with httpx.Client(timeout=UPLOAD_TIMEOUT) as bucket:
        _put(bucket, ticket, chunks_of(source, progress), size)


def chunks_of(source: Path, progress: Progress) -> Iterator[bytes]:
    total, sent = size_of(source), 0
    with closing(FileRange(source, 0, total)) as content:
        while chunk := content.read(CHUNK):
            yield chunk
            sent += len(chunk)
            progress(sent, total)


def _put(bucket: httpx.Client, ticket: UploadTicket, content: Iterator[bytes], size: int) -> None:
    headers = {**ticket.headers, "Content-Length": str(size)}
    try:
        answer = bucket.request(ticket.method, ticket.url, content=content, headers=headers)
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
