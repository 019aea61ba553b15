"""Builds a small container image from files, for tests: the blobs and the manifest that a registry keeps."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
_CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
_LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"


@dataclass(frozen=True)
class ContainerImage:
    blobs: tuple[bytes, ...]
    manifest: bytes

    @property
    def digest(self) -> str:
        return digest_of(self.manifest)


def build_image(
    files: Mapping[str, bytes], command: Sequence[str], links: Mapping[str, str] | None = None
) -> ContainerImage:
    """Build an image of one layer. Every file is executable; `links` maps symbolic links to their targets."""
    return build_image_of_layer(_archive(files, links or {}), command)


def build_image_of_layer(content: bytes, command: Sequence[str]) -> ContainerImage:
    """Build an image whose only layer is this tar archive, whatever it holds."""
    layer = gzip.compress(content, compresslevel=1, mtime=0)
    config = _encode(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Cmd": list(command), "Env": ["PATH=/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [digest_of(content)]},
        }
    )
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": _describe(_CONFIG_TYPE, config),
        "layers": [_describe(_LAYER_TYPE, layer)],
    }
    return ContainerImage((config, layer), _encode(manifest))


def _archive(files: Mapping[str, bytes], links: Mapping[str, str]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for path, content in sorted(files.items()):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
        for path, target in sorted(links.items()):
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return stream.getvalue()


def _describe(media_type: str, content: bytes) -> dict[str, object]:
    return {"mediaType": media_type, "size": len(content), "digest": digest_of(content)}


def _encode(value: object) -> bytes:
    return json.dumps(value).encode()


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
