"""The registry as a client sees it: manifests and blobs by digest, and the signatures beside an image.

Nothing the registry says about a digest is believed: every byte is hashed here.
"""

import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuaas_server.artifacts.byte_threads import run_in_thread
from gpuaas_server.artifacts.registry_tokens import DELETE, PULL, Access
from gpuaas_server.artifacts.signatures import ANNOTATION, PAYLOAD_TYPE, Signed, decode_signature, sha256, signature_tag
from gpuaas_server.artifacts.stores import CHUNK, Meter
from gpuaas_server.kernel.digests import is_digest
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.outward import calling

if TYPE_CHECKING:
    import httpx

SECONDS = 30.0
MAX_MANIFEST = 4 << 20
MAX_PARTS = 1000
MAX_SIGNATURES = 50
INDEX_TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFEST_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)

Mint = Callable[[Access], str]


@dataclass(frozen=True, slots=True)
class Image:
    """A whole image, every part of which was read and hashed."""

    media_type: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Part:
    digest: str
    size: int


class Registry:
    def __init__(self, url: str, mint: Mint, trusted: ssl.SSLContext | None = None) -> None:
        self._url = url.rstrip("/")
        self._mint = mint
        self._trusted = trusted

    async def check_image(self, repository: str, digest: str) -> Image | None:
        """Read the manifest, what it refers to, and all blobs. Return None when there is no such manifest."""
        top = await self._manifest(repository, digest)
        if top is None:
            return None
        kind, documents, size = media_type_of(top), [top], len(top.raw)
        if kind in INDEX_TYPES:
            documents = [await self._part_manifest(repository, part) for part in parts_of(top.document, "manifests")]
            size += sum(len(one.raw) for one in documents)
        elif kind not in MANIFEST_TYPES:
            raise Problem("artifact_invalid", f"A manifest of type {kind} is not an image.")
        blobs = {part.digest: part for one in documents for part in blobs_of(one.document)}
        for part in blobs.values():
            await self._check_blob(repository, part)
        return Image(kind, size + sum(part.size for part in blobs.values()))

    async def signatures(self, repository: str, digest: str) -> list[Signed]:
        """Return every signature beside the image; parts that are not cosign's are skipped."""
        found = await self._manifest(repository, signature_tag(digest))
        layers = (found.document.get("layers") or []) if found else []
        signed = []
        for layer in [one for one in layers if _is_payload(one)][:MAX_SIGNATURES]:
            signature = decode_signature(layer["annotations"][ANNOTATION])
            payload = await self._small_blob(repository, str(layer.get("digest")))
            if signature is not None and payload is not None:
                signed.append(Signed(payload, signature))
        return signed

    async def discard(self, repository: str, digest: str) -> None:
        """Delete the manifest; the registry's own garbage collection removes its blobs."""
        access = Access(repository, frozenset({PULL, DELETE}))
        async with self._request("DELETE", f"/v2/{repository}/manifests/{digest}", access, {}):
            pass

    async def remove_image(self, repository: str, digest: str, neighbours: Sequence[str]) -> None:
        """Delete the image, its signatures, and the parts of an index that no neighbour has too. Repeating is safe."""
        kept = set(neighbours)
        for neighbour in neighbours:
            kept |= await self._manifests_in(repository, neighbour)
        parts = await self._manifests_in(repository, digest) - kept
        if digest not in kept:
            signature = await self._manifest(repository, signature_tag(digest))
            gone = [digest, *([sha256(signature.raw)] if signature is not None else [])]
            for one in [*gone, *sorted(parts)]:
                await self.discard(repository, one)

    async def _manifests_in(self, repository: str, digest: str) -> set[str]:
        """Return the images that an index names; none for a plain image."""
        found = await self._manifest(repository, digest)
        if found is None or media_type_of(found) not in INDEX_TYPES:
            return set()
        return {part.digest for part in parts_of(found.document, "manifests")}

    async def _manifest(self, repository: str, reference: str) -> "_Manifest | None":
        accept = {"Accept": ", ".join((*MANIFEST_TYPES, *INDEX_TYPES))}
        access = Access(repository, frozenset({PULL}))
        async with self._request("GET", f"/v2/{repository}/manifests/{reference}", access, accept) as answer:
            if answer.status_code == 404:
                return None
            raw = await _limited(answer, MAX_MANIFEST)
        if is_digest(reference) and sha256(raw) != reference:
            raise Problem("digest_mismatch", f"The registry's manifest is {sha256(raw)}, not {reference}.")
        try:
            document = json.loads(raw)
        except ValueError as error:
            raise Problem("artifact_invalid", "The manifest is not JSON.") from error
        if not isinstance(document, dict):
            raise Problem("artifact_invalid", "The manifest is not a JSON object.")
        return _Manifest(raw, document, answer.headers.get("content-type", ""))

    async def _part_manifest(self, repository: str, part: Part) -> "_Manifest":
        found = await self._manifest(repository, part.digest)
        if found is None:
            raise Problem("upload_missing", f"The registry has no manifest {part.digest}.")
        return found

    async def _check_blob(self, repository: str, part: Part) -> None:
        meter = Meter()
        access = Access(repository, frozenset({PULL}))
        async with self._request("GET", f"/v2/{repository}/blobs/{part.digest}", access, {}) as answer:
            if answer.status_code == 404:
                raise Problem("upload_missing", f"The registry has no blob {part.digest}.")
            async for chunk in answer.aiter_raw(CHUNK):
                await run_in_thread(meter.add, chunk)
        measured = meter.measured()
        if measured.digest != part.digest or measured.size_bytes != part.size:
            detail = (
                f"A blob is {measured.digest} with {measured.size_bytes} bytes, not {part.digest} with {part.size}."
            )
            raise Problem("digest_mismatch", detail)

    async def _small_blob(self, repository: str, digest: str) -> bytes | None:
        access = Access(repository, frozenset({PULL}))
        async with self._request("GET", f"/v2/{repository}/blobs/{digest}", access, {}) as answer:
            content = b"" if answer.status_code == 404 else await _limited(answer, MAX_MANIFEST)
        return content if sha256(content) == digest else None

    @asynccontextmanager
    async def _request(
        self, method: str, path: str, access: Access, headers: Mapping[str, str]
    ) -> AsyncIterator["httpx.Response"]:
        """Yield the answer when it is a success or a 404. Any other answer counts as a registry that is away."""
        headers = {**headers, "Authorization": f"Bearer {self._mint(access)}"}
        try:
            async with (
                calling(SECONDS, trusted=self._trusted, follow_redirects=True) as client,
                client.stream(method, f"{self._url}{path}", headers=headers) as answer,
            ):
                if answer.status_code != 404 and not answer.is_success:
                    raise Problem("registry_unavailable", f"The registry answered {answer.status_code}.")
                yield answer
        except OSError as error:
            raise Problem("registry_unavailable", "The registry cannot be reached.") from error


@dataclass(frozen=True, slots=True)
class _Manifest:
    raw: bytes
    document: dict[str, Any]
    content_type: str


async def _limited(answer: "httpx.Response", limit: int) -> bytes:
    content = b""
    async for chunk in answer.aiter_raw(CHUNK):
        content += chunk
        if len(content) > limit:
            raise Problem("artifact_invalid", f"A manifest or signature has more than {limit} bytes.")
    return content


def media_type_of(manifest: _Manifest) -> str:
    """Return the media type. The document's own field counts: the digest covers it, and not the header."""
    return str(manifest.document.get("mediaType") or manifest.content_type)


def parts_of(document: Mapping[str, Any], name: str) -> list[Part]:
    """Read a list of descriptors in a manifest; one that is not a descriptor is a reason to refuse the manifest."""
    listed = document.get(name)
    if not isinstance(listed, list) or len(listed) > MAX_PARTS:
        raise Problem("artifact_invalid", f"The manifest's {name} are not a list of at most {MAX_PARTS} parts.")
    return [part_of(one) for one in listed]


def part_of(descriptor: object) -> Part:
    if isinstance(descriptor, dict) and not descriptor.get("urls"):
        digest, size = descriptor.get("digest"), descriptor.get("size")
        if is_digest(digest) and isinstance(size, int) and not isinstance(size, bool) and size >= 0:
            return Part(digest, size)
    raise Problem(
        "artifact_invalid", "The manifest has a part without sha256 digest and size, or with bytes elsewhere."
    )


def blobs_of(document: Mapping[str, Any]) -> list[Part]:
    return [part_of(document.get("config")), *parts_of(document, "layers")]


def _is_payload(layer: object) -> bool:
    if not isinstance(layer, dict) or layer.get("mediaType") != PAYLOAD_TYPE:
        return False
    annotations = layer.get("annotations")
    return isinstance(annotations, dict) and isinstance(annotations.get(ANNOTATION), str)
