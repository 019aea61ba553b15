"""Keeps the bytes of blobs: in a directory of this machine, or in a bucket. Bytes never pass through the database.

A publisher writes under the key of an intent. Before the bytes are measured they move to a key that the publisher
cannot write to, so that what was checked is what stays.
"""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import field
from typing import Protocol

from gpuaas_server.artifacts.lint import HEAD
from gpuaas_server.artifacts.parts import Part, PartedUpload
from gpuaas_server.kernel.dataclass import dataclass

CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Ticket:
    """Describes the request that moves bytes. `authorised`: at the API itself, with the caller's access token (`url` is then a
    path); else the URL is the permission, and a token must not be sent along.
    """

    method: str
    url: str
    authorised: bool
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measured:
    digest: str
    size_bytes: int
    head: bytes = field(default=b"", compare=False, repr=False)  # the first bytes, by which the form is recognised


class BlobStore(Protocol):
    def upload_ticket(self, project_id: str, intent_id: str, seconds: int, size_bytes: int | None) -> Ticket | None:
        """Return a ticket for exactly so many bytes, where the number is known and the store can insist on it; None where
        so many go in parts alone.
        """

    def part_ticket(self, upload: PartedUpload, part: Part, seconds: int) -> Ticket: ...

    async def begin_parts(self, project_id: str, intent_id: str) -> str:
        """Begin an upload in parts and return its name in the store."""

    async def abandon_parts(self, project_id: str, intent_id: str, name: str) -> None:
        """Remove the parts of an upload that nobody will finish. Repeating is safe."""

    async def received_parts(self, upload: PartedUpload, after: int, limit: int) -> dict[int, int] | None:
        """Return the sizes of some of the parts that have arrived, by their numbers; None when there is no such upload."""

    async def join_parts(self, upload: PartedUpload) -> str | None:
        """Make one blob of the parts, out of the publisher's reach, and return its key, or None when parts are missing.
        Repeating is safe. Raise `upload_in_progress` while somebody still sends one of them.
        """

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
        self._head = b""

    def add(self, chunk: bytes) -> None:
        self._hash.update(chunk)
        self.size += len(chunk)
        if len(self._head) < HEAD:
            self._head = (self._head + chunk[:HEAD])[:HEAD]

    def measured(self) -> Measured:
        return Measured(f"sha256:{self._hash.hexdigest()}", self.size, self._head)


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
