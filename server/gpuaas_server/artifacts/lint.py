"""Lints an artifact before anything runs it: tells whether hosts can use its form.

Faults fail the lint, notes are only told. The bytes were read and hashed before; here nothing is read.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.digests import is_digest

HEAD = 512  # bytes of a blob by which its form is recognised
MOST_TOLD = 20
_LONGEST = 2000
_LAYER = re.compile(
    r"application/vnd\.(oci\.image\.layer\.v1\.tar(\+gzip|\+zstd)?|docker\.image\.rootfs\.diff\.tar(\.gzip)?)"
)
_CONFIGS = ("application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json")
_GZIP, _TAR = b"\x1f\x8b", 257
_BEGINNINGS = {
    "application/gzip": (0, _GZIP),
    "application/x-gzip": (0, _GZIP),
    "application/zstd": (0, b"\x28\xb5\x2f\xfd"),
    "application/zip": (0, b"PK"),
    "application/x-tar": (_TAR, b"ustar"),
}


@dataclass(frozen=True, slots=True)
class LintReport:
    faults: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.faults

    @property
    def summary(self) -> str:
        more = len(self.faults) - MOST_TOLD
        told = [*self.faults[:MOST_TOLD], *([f"And {more} more."] if more > 0 else []), *self.notes[:MOST_TOLD]]
        return " ".join(told)[:_LONGEST] or "No findings."


@dataclass(frozen=True, slots=True)
class ImageDocuments:
    """The manifest of one image and its configuration, as bytes; None: the registry has not got it."""

    manifest: Mapping[str, Any]
    config: bytes | None


def lint_blob(media_type: str, size_bytes: int, head: bytes) -> LintReport:
    """Judge a file by its size, and where its media type promises a form, by its first bytes."""
    if size_bytes == 0:
        return LintReport(("The file is empty.",))
    place, beginning = _BEGINNINGS.get(media_type, (0, b""))
    if head[place : place + len(beginning)] != beginning:
        return LintReport((f"The bytes are not {media_type}, which the publisher announced.",))
    return LintReport((), (f"{size_bytes} bytes of {media_type}.",))


def lint_image(images: Sequence[ImageDocuments]) -> LintReport:
    """Judge an image, or those images of an index that are for Linux."""
    if not images:
        return LintReport(("The index has no image for Linux.",))
    faults, notes = list[str](), list[str]()
    for one in images:
        faults += _manifest_faults(one.manifest)
        document = _config_of(one.config)
        if document is None:
            faults.append("The configuration of the image is missing, or is not a JSON object.")
            continue
        faults += _config_faults(document, len(one.manifest.get("layers", [])))
        notes += _notes(document)
    return LintReport(tuple(dict.fromkeys(faults)), tuple(dict.fromkeys(notes)))


def _manifest_faults(manifest: Mapping[str, Any]) -> Iterator[str]:
    layers = manifest.get("layers", [])
    if not layers:
        yield "The image has no layers."
    for layer in layers:
        if not _LAYER.fullmatch(str(layer.get("mediaType"))):
            yield f"A layer has the media type {_short(layer.get('mediaType'))}, which hosts cannot unpack."
    config = manifest.get("config", {}).get("mediaType")
    if config not in _CONFIGS:
        yield f"The configuration has the media type {_short(config)}: the artifact is not a container image."


def _config_of(raw: bytes | None) -> dict[str, Any] | None:
    try:
        document = json.loads(raw or b"")
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _config_faults(document: Mapping[str, Any], layers: int) -> Iterator[str]:
    if document.get("os") != "linux":
        yield f"The image is for {_short(document.get('os'))}, and hosts run Linux."
    if not isinstance(document.get("architecture"), str):
        yield "The configuration of the image names no architecture."
    rootfs = document.get("rootfs")
    unpacked = rootfs.get("diff_ids") if isinstance(rootfs, dict) else None
    if not isinstance(unpacked, list) or len(unpacked) != layers or not all(is_digest(one) for one in unpacked):
        yield f"The configuration of the image does not name the digests of its {layers} layers."
    started = document.get("config") or {}
    if not isinstance(started, dict):
        yield "The configuration of the image does not say how the image is started."
        return
    for name in ("Entrypoint", "Cmd"):
        words = started.get(name)
        if words is not None and not (isinstance(words, list) and all(isinstance(one, str) for one in words)):
            yield f"{name} is not a list of words."
    if not isinstance(started.get("User", ""), str):
        yield "User is not a text."


def _notes(document: Mapping[str, Any]) -> Iterator[str]:
    yield f"An image for linux/{_short(document.get('architecture'))}."
    started = document.get("config")
    started = started if isinstance(started, dict) else {}
    if not started.get("Entrypoint") and not started.get("Cmd"):
        yield "The image names no command; the app's manifest must name one."
    if started.get("User") in (None, "", "0", "root"):
        yield "The image runs as root in its container, unless the app's manifest names a user."


def _short(value: object) -> str:
    """Quote what a publisher wrote: briefly, and without control characters."""
    return "".join(one for one in str(value)[:80] if one.isprintable()) or "nothing"
