"""The registry as a client sees it: manifests and blobs by digest, and the signatures beside an image.

Nothing the registry says about a digest is believed: every byte is hashed here.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from gpuaas_server.artifacts.byte_threads import run_in_thread
from gpuaas_server.artifacts.lint import ImageDocuments
from gpuaas_server.artifacts.registry_tokens import DELETE, PULL, Access
from gpuaas_server.artifacts.registry_transport import ABSENT, RegistryTransport, limited
from gpuaas_server.artifacts.signatures import (
    ANNOTATION,
    SIGNATURE_TYPE,
    Signed,
    decode_signature,
    payload_layers,
    referrers_tag,
    sha256,
    signature_referrers,
    signature_tag,
    subject_of,
)
from gpuaas_server.artifacts.stores import CHUNK, Meter
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.digests import is_digest
from gpuaas_server.kernel.errors import Problem

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


@dataclass(frozen=True, slots=True)
class Image:
    """A whole image, every part of which was read and hashed."""

    media_type: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Part:
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class ImageContents:
    """Holds what the manifests of an image say of it. No blob was read."""

    image: Image
    blobs: tuple[Part, ...]


class Registry:
    def __init__(self, transport: RegistryTransport) -> None:
        self._transport = transport

    async def check_image(self, repository: str, digest: str) -> Image | None:
        """Read the manifest, what it refers to, and all blobs. Return None when there is no such manifest."""
        contents = await self.read_image(repository, digest)
        if contents is None:
            return None
        for part in contents.blobs:
            await self._check_blob(repository, part)
        return contents.image

    async def read_image(self, repository: str, digest: str) -> ImageContents | None:
        """Read the manifest and those that it refers to, and no blob. Return None when there is no such manifest."""
        top = await self.manifest(repository, digest)
        if top is None:
            return None
        kind, documents, size = media_type_of(top), [top], len(top.raw)
        if kind in INDEX_TYPES:
            documents = [await self._part_manifest(repository, part) for part in parts_of(top.document, "manifests")]
            size += sum(len(one.raw) for one in documents)
        elif kind not in MANIFEST_TYPES:
            raise Problem("artifact_invalid", f"A manifest of type {kind} is not an image.")
        blobs = {part.digest: part for one in documents for part in blobs_of(one.document)}
        image = Image(kind, size + sum(part.size for part in blobs.values()))
        return ImageContents(image, tuple(blobs.values()))

    async def image_documents(self, repository: str, digest: str) -> list[ImageDocuments]:
        """Read the manifest and the configuration of the image, or of each image for Linux in an index."""
        top = await self.manifest(repository, digest)
        if top is None:
            return []
        found = [top]
        if media_type_of(top) in INDEX_TYPES:
            listed = [one for one in top.document.get("manifests", []) if _is_for_linux(one)]
            found = [await self._part_manifest(repository, part_of(one)) for one in listed]
        return [
            ImageDocuments(one.document, await self._small_blob(repository, part_of(one.document.get("config")).digest))
            for one in found
        ]

    async def signatures(self, repository: str, digest: str) -> list[Signed]:
        """Return every signature beside the image; parts that are not cosign's are skipped."""
        signed: list[Signed] = []
        for manifest in await self._signature_manifests(repository, digest):
            for layer in payload_layers(manifest.document)[: MAX_SIGNATURES - len(signed)]:
                signature = decode_signature(layer["annotations"][ANNOTATION])
                payload = await self._small_blob(repository, str(layer.get("digest")))
                if signature is not None and payload is not None:
                    signed.append(Signed(payload, signature))
        return signed

    async def _signature_manifests(self, repository: str, digest: str) -> list["Manifest"]:
        """Return the manifest at cosign's tag, and those that name the image as their subject."""
        tagged = await self.manifest(repository, signature_tag(digest))
        found = [] if tagged is None else [tagged]
        for referrer in signature_referrers(await self._referrers(repository, digest))[:MAX_SIGNATURES]:
            manifest = await self.manifest(repository, referrer)
            if manifest is not None and subject_of(manifest.document) == digest:
                found.append(manifest)
        return found

    async def _referrers(self, repository: str, digest: str) -> Mapping[str, Any]:
        """Return the index of what refers to the image: by the referrers API, or where a registry has none, by its tag."""
        path = f"/v2/{repository}/referrers/{digest}?artifactType={quote(SIGNATURE_TYPE, safe='')}"
        listed = await self._document(repository, path)
        tagged = listed or await self.manifest(repository, referrers_tag(digest))
        return {} if tagged is None else tagged.document

    async def discard(self, repository: str, digest: str) -> None:
        """Delete the manifest; the registry's own garbage collection removes its blobs."""
        access = Access(repository, frozenset({PULL, DELETE}))
        async with self._transport.request("DELETE", f"/v2/{repository}/manifests/{digest}", access, {}):
            pass

    async def remove_image(self, repository: str, digest: str, neighbours: Sequence[str]) -> None:
        """Delete the image, its signatures, and the parts of an index that no neighbour has too. Repeating is safe."""
        kept = set(neighbours)
        for neighbour in neighbours:
            kept |= await self._manifests_in(repository, neighbour)
        parts = await self._manifests_in(repository, digest) - kept
        if digest not in kept:
            signatures = await self._signature_manifests(repository, digest)
            index = await self.manifest(repository, referrers_tag(digest))
            beside = [*signatures, *([index] if index is not None else [])]
            for one in [digest, *(sha256(found.raw) for found in beside), *sorted(parts)]:
                await self.discard(repository, one)

    async def _manifests_in(self, repository: str, digest: str) -> set[str]:
        """Return the images that an index names; none for a plain image."""
        found = await self.manifest(repository, digest)
        if found is None or media_type_of(found) not in INDEX_TYPES:
            return set()
        return {part.digest for part in parts_of(found.document, "manifests")}

    async def manifest(self, repository: str, reference: str) -> "Manifest | None":
        found = await self._document(repository, f"/v2/{repository}/manifests/{reference}")
        if found is not None and is_digest(reference) and sha256(found.raw) != reference:
            raise Problem("digest_mismatch", f"The registry's manifest is {sha256(found.raw)}, not {reference}.")
        return found

    async def _document(self, repository: str, path: str) -> "Manifest | None":
        accept = {"Accept": ", ".join((*MANIFEST_TYPES, *INDEX_TYPES))}
        access = Access(repository, frozenset({PULL}))
        async with self._transport.request("GET", path, access, accept) as answer:
            if answer.status_code in ABSENT:
                return None
            raw = await limited(answer, MAX_MANIFEST)
        try:
            document = json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise Problem("artifact_invalid", "The manifest is not JSON.") from error
        if not isinstance(document, dict):
            raise Problem("artifact_invalid", "The manifest is not a JSON object.")
        return Manifest(raw, document, answer.headers.get("content-type", ""))

    async def _part_manifest(self, repository: str, part: Part) -> "Manifest":
        found = await self.manifest(repository, part.digest)
        if found is None:
            raise Problem("upload_missing", f"The registry has no manifest {part.digest}.")
        return found

    async def _check_blob(self, repository: str, part: Part) -> None:
        meter = Meter()
        access = Access(repository, frozenset({PULL}))
        async with self._transport.request("GET", f"/v2/{repository}/blobs/{part.digest}", access, {}) as answer:
            if answer.status_code in ABSENT:
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
        if not is_digest(digest):
            return None
        access = Access(repository, frozenset({PULL}))
        async with self._transport.request("GET", f"/v2/{repository}/blobs/{digest}", access, {}) as answer:
            content = b"" if answer.status_code in ABSENT else await limited(answer, MAX_MANIFEST)
        return content if sha256(content) == digest else None


@dataclass(frozen=True, slots=True)
class Manifest:
    raw: bytes
    document: dict[str, Any]
    content_type: str


def media_type_of(manifest: Manifest) -> str:
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


def _is_for_linux(descriptor: object) -> bool:
    """Tell whether an entry of an index is an image for Linux. One that does not say is taken for one."""
    platform = descriptor.get("platform") if isinstance(descriptor, dict) else None
    return not isinstance(platform, dict) or platform.get("os", "linux") == "linux"


def blobs_of(document: Mapping[str, Any]) -> list[Part]:
    return [part_of(document.get("config")), *parts_of(document, "layers")]
