"""Where the bytes of blobs are kept: a directory of this machine, or a bucket. Bytes never pass through the database.

A publisher writes under the key of an intent. Before the bytes are measured they move to a key that the publisher
cannot write to, so that what was checked is what stays.
"""

import hashlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

from gpuaas_server.artifacts.byte_threads import run_in_thread
from gpuaas_server.kernel.errors import Problem

CHUNK = 1 << 20
# Bytes that may wait in memory for the disk: whoever commits meanwhile, the database above all, waits for them to be written.
UNSYNCED = 8 << 20

Admit = Callable[[int], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Ticket:
    """How to move bytes: a request to make. `authorised`: at the API itself, with the caller's access token (`url` is then
    a path); else the URL is the permission, and a token must not be sent along.
    """

    method: str
    url: str
    authorised: bool
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measured:
    digest: str
    size_bytes: int


class BlobStore(Protocol):
    def upload_ticket(self, project_id: str, intent_id: str, seconds: int, size_bytes: int | None) -> Ticket:
        """Return a ticket for exactly so many bytes, where the number is known and the store can insist on it."""

    def download_ticket(self, key: str, path: str, seconds: int) -> Ticket:
        """Return a ticket. `path` is the API's own path for these bytes, for a store that is reached through it."""

    async def settle(self, project_id: str, intent_id: str) -> str | None:
        """Put the upload out of the publisher's reach, and return its key, or None when there is none. Repeating is safe."""

    async def measure(self, key: str) -> Measured | None: ...

    async def discard(self, project_id: str, intent_id: str) -> None:
        """Remove all bytes of an intent that came to nothing."""

    async def remove(self, key: str) -> None:
        """Remove the bytes of an artifact. Repeating is safe."""


def upload_key(project_id: str, intent_id: str) -> str:
    return f"uploads/{project_id}/{intent_id}"


def settled_key(project_id: str, intent_id: str) -> str:
    return f"blobs/{project_id}/{intent_id}"


class Meter:
    """Counts and hashes bytes on their way."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.size = 0

    def add(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        self.size += len(chunk)

    def measured(self) -> Measured:
        return Measured(f"sha256:{self._hash.hexdigest()}", self.size)


async def in_chunks(content: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the same bytes in pieces of about a MiB: each piece costs a turn of a thread."""
    pieces, size = list[bytes](), 0
    async for piece in content:
        pieces.append(piece)
        size += len(piece)
        if size >= CHUNK:
            yield b"".join(pieces)
            pieces, size = [], 0
    if pieces:
        yield b"".join(pieces)


def _store(file: BinaryIO, meter: Meter, chunk: bytes) -> None:
    before = meter.size
    meter.add(chunk)
    file.write(chunk)
    if meter.size // UNSYNCED > before // UNSYNCED:
        _sync(file)


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fdatasync(file.fileno())


class DirectoryStore:
    """A directory, which is reached through the API itself: it streams to the disk and back."""

    def __init__(self, root: Path, limit: int) -> None:
        self._root = root
        self._limit = limit

    def upload_ticket(self, project_id: str, intent_id: str, seconds: int, size_bytes: int | None) -> Ticket:
        path = f"/api/v1/projects/{project_id}/publish-intents/{intent_id}/content"
        return Ticket("PUT", path, True, {"Content-Type": "application/octet-stream"})

    def download_ticket(self, key: str, path: str, seconds: int) -> Ticket:
        return Ticket("GET", path, True)

    async def write(self, project_id: str, intent_id: str, content: AsyncIterator[bytes], admit: Admit) -> Measured:
        """All of it or nothing: the name appears when the last byte is on the disk. `admit` is asked before bytes are
        written, with how many there will be then; it refuses by raising.
        """
        target = self._path(upload_key(project_id, intent_id))
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = target.with_name(f".{target.name}.{os.urandom(6).hex()}")
        meter = Meter()
        try:
            with fresh.open("xb") as file:
                async for chunk in in_chunks(content):
                    if meter.size + len(chunk) > self._limit:
                        raise Problem("body_too_large", f"An artifact may have {self._limit} bytes.")
                    await admit(meter.size + len(chunk))
                    await run_in_thread(_store, file, meter, chunk)
                await run_in_thread(_sync, file)
            fresh.replace(target)
        except OSError as error:
            raise Problem("storage_unavailable", "The bytes could not be written.") from error
        finally:
            fresh.unlink(missing_ok=True)
        return meter.measured()

    async def settle(self, project_id: str, intent_id: str) -> str | None:
        source, key = self._path(upload_key(project_id, intent_id)), settled_key(project_id, intent_id)
        target = self._path(key)
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if source.exists():
            source.replace(target)
        self.discard_parts(project_id, intent_id)
        return key if target.exists() else None

    async def measure(self, key: str) -> Measured | None:
        path = self._path(key)
        if not path.exists():
            return None
        meter = Meter()
        async for chunk in self.read(key):
            await run_in_thread(meter.add, chunk)
        return meter.measured()

    def holds(self, key: str) -> bool:
        return self._path(key).is_file()

    async def read(self, key: str) -> AsyncIterator[bytes]:
        with self._path(key).open("rb") as file:
            while chunk := await run_in_thread(file.read, CHUNK):
                yield chunk

    async def discard(self, project_id: str, intent_id: str) -> None:
        self.discard_upload(project_id, intent_id)
        self._path(settled_key(project_id, intent_id)).unlink(missing_ok=True)

    async def remove(self, key: str) -> None:
        try:
            await run_in_thread(self._unlink, key)
        except OSError as error:
            raise Problem("storage_unavailable", "The bytes could not be removed.") from error

    def _unlink(self, key: str) -> None:
        self._path(key).unlink(missing_ok=True)

    def discard_upload(self, project_id: str, intent_id: str) -> None:
        self._path(upload_key(project_id, intent_id)).unlink(missing_ok=True)
        self.discard_parts(project_id, intent_id)

    def discard_parts(self, project_id: str, intent_id: str) -> None:
        """Remove what an upload left that was cut off by the end of its process."""
        path = self._path(upload_key(project_id, intent_id))
        for left in path.parent.glob(f".{path.name}.*"):
            left.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        """Return the path of a key. Keys are made of our own ids; one that left the directory is a bug, and refused."""
        path = (self._root / key).resolve()
        if not path.is_relative_to(self._root.resolve()):
            raise ValueError(f"the key {key} leaves the store")
        return path
