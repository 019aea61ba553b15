"""Reads an image from an OCI archive, as `podman save --format oci-archive` writes it: bounded, and nothing is unpacked."""

import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gpuaas_sdk.digests import digest_of

IMAGE_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_LARGEST_DOCUMENT = 4 * 1024 * 1024
_MOST_ENTRIES = 10_000
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class ArchiveRefused(Exception):
    """Raised when a file is not an archive of one image; it says why."""


@dataclass(frozen=True, slots=True)
class ImageArchive:
    """An open archive. `manifest` is the image's manifest as it is signed and pushed; `blobs` are what it refers to."""

    archive: tarfile.TarFile
    entries: Mapping[str, tarfile.TarInfo]
    manifest: bytes
    blobs: tuple[str, ...]

    @property
    def digest(self) -> str:
        return digest_of(self.manifest)

    @contextmanager
    def blob(self, digest: str) -> Iterator[IO[bytes]]:
        """Open a blob. The registry compares its digest."""
        stream = self.archive.extractfile(self.entries[_path_of(digest)])
        if stream is None:
            raise ArchiveRefused(f"{digest} is not a file in it.")
        with stream:
            yield stream


@contextmanager
def open_archive(path: Path) -> Iterator[ImageArchive]:
    """Open the archive of one image, or raise `ArchiveRefused`."""
    try:
        with tarfile.open(path, "r:") as archive:
            yield _read(archive)
    except (tarfile.TarError, OSError, EOFError) as error:
        raise ArchiveRefused("it is not a tar archive that can be read.") from error


def _read(archive: tarfile.TarFile) -> ImageArchive:
    entries: dict[str, tarfile.TarInfo] = {}
    for entry in archive:
        if len(entries) >= _MOST_ENTRIES:
            raise ArchiveRefused(f"it has more than {_MOST_ENTRIES} entries.")
        if entry.isreg():
            entries[entry.name.removeprefix("./")] = entry
    index = _document(_content(archive, entries, "index.json"))
    listed = index.get("manifests")
    digests = [one.get("digest") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    if len(digests) != 1:
        raise ArchiveRefused("it is not an OCI archive of one image; save one with --format oci-archive.")
    manifest = _content(archive, entries, _path_of(digests[0]))
    if digest_of(manifest) != digests[0]:
        raise ArchiveRefused("its manifest does not have the digest that its index names.")
    blobs = _blobs_of(_document(manifest))
    for digest in blobs:
        if _path_of(digest) not in entries:
            raise ArchiveRefused(f"it lacks {digest}.")
    return ImageArchive(archive, entries, manifest, blobs)


def _blobs_of(manifest: dict[str, object]) -> tuple[str, ...]:
    config, layers = manifest.get("config"), manifest.get("layers")
    if not isinstance(config, dict) or not isinstance(layers, list):
        raise ArchiveRefused("it has several platforms; save the image of one platform.")
    parts = [config, *(layer for layer in layers if isinstance(layer, dict))]
    return tuple(dict.fromkeys(str(part.get("digest")) for part in parts))


def _path_of(digest: object) -> str:
    if not isinstance(digest, str) or _DIGEST.fullmatch(digest) is None:
        raise ArchiveRefused("it names a part without a sha256 digest.")
    return f"blobs/sha256/{digest.removeprefix('sha256:')}"


def _content(archive: tarfile.TarFile, entries: Mapping[str, tarfile.TarInfo], path: str) -> bytes:
    entry = entries.get(path)
    if entry is None:
        raise ArchiveRefused(f"it has no {path}; save the image with --format oci-archive.")
    if entry.size > _LARGEST_DOCUMENT:
        raise ArchiveRefused(f"its {path} is larger than {_LARGEST_DOCUMENT} bytes.")
    stream = archive.extractfile(entry)
    return b"" if stream is None else stream.read(_LARGEST_DOCUMENT)


def _document(content: bytes) -> dict[str, object]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ArchiveRefused("a document in it is not a JSON object.")
    return value
