"""Blobs in a directory of this machine, which is reached through the API itself: it streams to the disk and back."""

import errno
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from gpuaas_server.artifacts.byte_threads import run_in_thread
from gpuaas_server.artifacts.directory_parts import UNSYNCED, DirectoryParts
from gpuaas_server.artifacts.parts import Part, PartedUpload
from gpuaas_server.artifacts.stores import CHUNK, Measured, Meter, Ticket, in_chunks, settled_key, upload_key
from gpuaas_server.kernel.errors import Problem

Admit = Callable[[int], Awaitable[None]]
_OCTETS = {"Content-Type": "application/octet-stream"}


def _intent_path(project_id: str, intent_id: str) -> str:
    return f"/api/v1/projects/{project_id}/publish-intents/{intent_id}"


@contextmanager
def _storing() -> Iterator[None]:
    """Raise failures of the disk as a store that is unavailable."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        detail = "The disk of the blob store is full." if full else "The bytes could not be written."
        raise Problem("storage_unavailable", detail) from error


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
    def __init__(self, root: Path, limit: int) -> None:
        self._root = root
        self._limit = limit

    def upload_ticket(self, project_id: str, intent_id: str, seconds: int, size_bytes: int | None) -> Ticket:
        return Ticket("PUT", f"{_intent_path(project_id, intent_id)}/content", True, dict(_OCTETS))

    def part_ticket(self, upload: PartedUpload, part: Part, seconds: int) -> Ticket:
        path = f"{_intent_path(upload.project_id, upload.intent_id)}/parts/{part.number}"
        return Ticket("PUT", path, True, dict(_OCTETS))

    async def begin_parts(self, project_id: str, intent_id: str) -> str:
        with _storing():
            self._parts(project_id, intent_id).begin()
        return intent_id

    async def abandon_parts(self, project_id: str, intent_id: str, name: str) -> None:
        self._parts(project_id, intent_id).discard()

    async def received_parts(self, upload: PartedUpload, after: int, limit: int) -> dict[int, int] | None:
        with _storing():
            found = self._parts(upload.project_id, upload.intent_id).received(upload.layout)
        return {number: size for number, size in found.items() if after < number <= after + limit}

    async def write_part(self, upload: PartedUpload, part: Part, content: AsyncIterator[bytes]) -> None:
        with _storing():
            await self._parts(upload.project_id, upload.intent_id).write(part, content)

    async def join_parts(self, upload: PartedUpload) -> str | None:
        parts, key = self._parts(upload.project_id, upload.intent_id), settled_key(upload.project_id, upload.intent_id)
        if self.holds(key):
            parts.discard()  # joined before
            return key
        try:
            with _storing():
                return key if parts.join(upload.layout, self._path(key)) else None
        except Problem as problem:
            if problem.code == "conflict":  # removed
                return None
            raise

    def download_ticket(self, key: str, path: str, seconds: int) -> Ticket:
        return Ticket("GET", path, True)

    async def write(self, project_id: str, intent_id: str, content: AsyncIterator[bytes], admit: Admit) -> Measured:
        """Write all of it or nothing: the name appears when the last byte is on the disk. `admit` is asked before bytes are
        written, with how many there will be then; it refuses by raising.
        """
        target = self._path(upload_key(project_id, intent_id))
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = target.with_name(f".{target.name}.{os.urandom(6).hex()}")
        meter = Meter()
        try:
            with _storing():
                await self._write_file(fresh, meter, content, admit)
                fresh.replace(target)
        finally:
            fresh.unlink(missing_ok=True)
        return meter.measured()

    async def _write_file(self, fresh: Path, meter: Meter, content: AsyncIterator[bytes], admit: Admit) -> None:
        with fresh.open("xb") as file:
            async for chunk in in_chunks(content):
                if meter.size + len(chunk) > self._limit:
                    raise Problem("body_too_large", f"An artifact may have at most {self._limit} bytes.")
                await admit(meter.size + len(chunk))
                await run_in_thread(_store, file, meter, chunk)
            await run_in_thread(_sync, file)

    async def settle(self, project_id: str, intent_id: str) -> str | None:
        source, key = self._path(upload_key(project_id, intent_id)), settled_key(project_id, intent_id)
        target = self._path(key)
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if source.exists():
            source.replace(target)
        self.discard_cut_off(project_id, intent_id)
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

    def size(self, key: str) -> int:
        return self._path(key).stat().st_size

    async def read(self, key: str, offset: int = 0) -> AsyncIterator[bytes]:
        with self._path(key).open("rb") as file:
            file.seek(offset)
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
        self.discard_cut_off(project_id, intent_id)
        self._parts(project_id, intent_id).discard()

    def discard_cut_off(self, project_id: str, intent_id: str) -> None:
        """Remove what an upload of a whole blob left that was cut off by the end of its process."""
        path = self._path(upload_key(project_id, intent_id))
        for left in path.parent.glob(f".{path.name}.*"):
            left.unlink(missing_ok=True)

    def _parts(self, project_id: str, intent_id: str) -> DirectoryParts:
        return DirectoryParts(self._path(f"{upload_key(project_id, intent_id)}.parts"))

    def _path(self, key: str) -> Path:
        """Return the path of a key. Keys are made of our own ids; one that left the directory is a bug, and refused."""
        path = (self._root / key).resolve()
        if not path.is_relative_to(self._root.resolve()):
            raise ValueError(f"the key {key} leaves the store")
        return path
