"""An image as a folder in the layout of OCI, which podman and other programs read, and how it is written."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuaas_catalogue.images.layers import LAYER_TYPE, Layer

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
_CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
_CREATED = "2020-01-01T00:00:00Z"


@dataclass(frozen=True)
class ImageLayout:
    folder: Path

    @property
    def digest(self) -> str:
        """The digest of the image's manifest: the name by which it is published and run."""
        index: dict[str, Any] = json.loads((self.folder / "index.json").read_text())
        return str(index["manifests"][0]["digest"])

    @property
    def manifest(self) -> bytes:
        return self.blob(self.digest).read_bytes()

    def parts(self) -> list[Path]:
        """Return the files of the configuration and the layers."""
        manifest: dict[str, Any] = json.loads(self.manifest)
        return [self.blob(str(part["digest"])) for part in (manifest["config"], *manifest["layers"])]

    def blob(self, digest: str) -> Path:
        return self.folder / "blobs/sha256" / digest.removeprefix("sha256:")


def write_layout(folder: Path, layers: Sequence[Layer], settings: Mapping[str, object]) -> ImageLayout:
    """Write the configuration, the manifest and the index. The layers' files are in `blobs` already."""
    layout = ImageLayout(folder)
    config = {
        "architecture": "amd64",
        "os": "linux",
        "created": _CREATED,
        "config": dict(settings),
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
        "history": [{"created": _CREATED} for _ in layers],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": _store(layout, _CONFIG_TYPE, config),
        "layers": [{"mediaType": LAYER_TYPE, "digest": one.digest, "size": one.size} for one in layers],
    }
    described = _store(layout, MANIFEST_TYPE, manifest)
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [described]}))
    (folder / "oci-layout").write_text(json.dumps({"imageLayoutVersion": "1.0.0"}))
    return layout


def _store(layout: ImageLayout, media_type: str, value: Mapping[str, object]) -> dict[str, object]:
    content = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    layout.blob(digest).write_bytes(content)
    return {"mediaType": media_type, "digest": digest, "size": len(content)}
