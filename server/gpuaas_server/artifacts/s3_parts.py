"""Multipart uploads of a bucket: begun and joined by us, their parts sent by the publisher with presigned URLs."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from gpuaas_server.artifacts.parts import MOST_PARTS
from gpuaas_server.artifacts.s3 import BucketRequests
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

PAGE = 1000  # what a bucket lists at once
JOIN_SECONDS = 300.0
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class StoredPart:
    number: int
    size_bytes: int
    tag: str  # the bucket's own mark of these bytes
    stored_at: str  # as the bucket writes it; later ones sort behind earlier ones


class MultipartUploads:
    def __init__(self, requests: BucketRequests) -> None:
        self._requests = requests

    async def begin(self, key: str) -> str:
        _, body = await self._requests.send("POST", key, parameters={"uploads": ""})
        return _text(_read(body), "UploadId")

    async def parts(self, key: str, name: str, after: int, limit: int) -> list[StoredPart] | None:
        """List some of the stored parts by their numbers; None when there is no such upload."""
        parameters = {"uploadId": name, "part-number-marker": str(after), "max-parts": str(min(limit, PAGE))}
        status, body = await self._requests.send("GET", key, parameters=parameters)
        if status == 404:
            return None
        listed = [_stored_part(one) for one in _children(_read(body), "Part")]
        # A part that was sent twice is listed twice by some servers; the last one counts.
        latest = {one.number: one for one in sorted(listed, key=lambda one: one.stored_at) if one.number > after}
        return [latest[number] for number in sorted(latest)]

    async def all_parts(self, key: str, name: str) -> list[StoredPart] | None:
        found, after = list[StoredPart](), 0
        while after < MOST_PARTS:
            page = await self.parts(key, name, after, PAGE)
            if page is None:
                return None
            if not page:
                break
            found += page
            after = page[-1].number
        return found

    async def complete(self, key: str, name: str, parts: Sequence[StoredPart]) -> None:
        """Join the parts. Nobody can send one by an earlier URL afterwards."""
        listed = "".join(
            f"<Part><PartNumber>{one.number}</PartNumber><ETag>{escape(one.tag, quote=False)}</ETag></Part>"
            for one in parts
        )
        body = f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>".encode()
        await self._requests.send("POST", key, parameters={"uploadId": name}, body=body, seconds=JOIN_SECONDS)

    async def abort(self, key: str, name: str) -> None:
        await self._requests.send("DELETE", key, parameters={"uploadId": name})

    async def abort_all(self, key: str) -> None:
        """Abort every upload to this key. A part that was on its way meanwhile is looked for again."""
        for _ in range(ROUNDS):
            names = await self._names(key)
            if not names:
                return
            for name in names:
                await self.abort(key, name)
        raise Problem("storage_unavailable", "The parts of an upload could not be removed.")

    async def _names(self, key: str) -> list[str]:
        _, body = await self._requests.send("GET", "", parameters={"uploads": "", "prefix": key})
        found = [one for one in _children(_read(body), "Upload") if _text(one, "Key").lstrip("/") == key]
        return [_text(one, "UploadId") for one in found]


def _read(body: bytes) -> "Element":
    """Read an answer of the store. The parser is loaded when it is needed: few platforms have a bucket."""
    from xml.etree.ElementTree import ParseError, fromstring

    try:
        return fromstring(body)  # noqa: S314 - the answer of a store that we sign in to
    except ParseError as error:
        raise Problem("storage_unavailable", "The blob store gave an answer that cannot be read.") from error


def _stored_part(element: "Element") -> StoredPart:
    number, size = int(_text(element, "PartNumber")), int(_text(element, "Size"))
    return StoredPart(number, size, _text(element, "ETag"), _text(element, "LastModified"))


def _children(element: "Element", name: str) -> Iterator["Element"]:
    return (one for one in element if _plain(one.tag) == name)


def _text(element: "Element", name: str) -> str:
    found = next(_children(element, name), None)
    if found is None or not found.text:
        raise Problem("storage_unavailable", f"The blob store gave an answer without {name}.")
    return found.text


def _plain(tag: str) -> str:
    return tag.rpartition("}")[2]
