"""Writes an image as a folder in OCI's layout, which podman and other programs read."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpuaas_catalogue.images.layers import LAYER_TYPE, Layer
from gpuaas_sdk.image_layouts import ImageLayout

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
_CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
_CREATED = "2020-01-01T00:00:00Z"


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
