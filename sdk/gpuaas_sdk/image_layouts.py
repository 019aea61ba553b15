"""An image as a folder in OCI's layout, which podman and other programs write and read, and how it is pushed."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuaas_sdk.registry import Repository


@dataclass(frozen=True, slots=True)
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


def push_image(image: ImageLayout, repository: Repository) -> str:
    """Push the image and return its digest, which is the same wherever it is pushed."""
    for part in image.parts():
        with part.open("rb") as content:
            repository.push_stream(content, f"sha256:{part.name}")
    return repository.push_manifest(image.digest, image.manifest)
