"""The image of the notebook app, built once on a machine by the program of its package; the demo imports none of its code."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from gpuaas_lab import rootfs
from gpuaas_lab.built_folder import Progress
from gpuaas_lab.commands import follow
from gpuaas_lab.container_engine import CONTAINER_ENGINE, IMAGE_BASE
from gpuaas_lab.errors import CommandFailed, LabError
from gpuaas_lab.layout import IMAGES_DIR
from gpuaas_lab.programs import program

SLUG = "jupyter"
BUILD_SECONDS = 900.0


@dataclass(frozen=True)
class ImageSources:
    """The layers of the root file system that images are made from, the topmost first."""

    roots: tuple[Path, ...]

    @property
    def settings(self) -> dict[str, str]:
        """The settings by which the platform's own apps find these layers, and the images that were built from them."""
        roots = ":".join(map(str, self.roots))
        return {"GPUAAS_CATALOGUE_BASE": roots, "GPUAAS_CATALOGUE_CACHE": str(IMAGES_DIR)}


def ensure(progress: Progress) -> ImageSources:
    """Return what the image is made from. The first call on a machine fetches its wheels over the network and builds it."""
    CONTAINER_ENGINE.ensure(progress)
    sources = ImageSources((IMAGE_BASE.ensure(progress), rootfs.ensure(progress)))
    began = time.monotonic()
    bases = [word for root in sources.roots for word in ("--base", str(root))]
    try:
        argv = [program("gpuaas-catalogue"), "build", SLUG, *bases, "--cache", str(IMAGES_DIR)]
        # With this process's own variables: they say how the machine reaches its package index.
        follow(argv, _tell_parts(progress), timeout=BUILD_SECONDS, environment=os.environ)
    except CommandFailed as failure:
        raise LabError(f"the image of {SLUG} could not be built: {failure.output.strip()[-600:]}") from failure
    took = time.monotonic() - began
    if took > 5.0:
        progress(f"the image of {SLUG} is ready after {took:.0f} s")
    return sources


def _tell_parts(progress: Progress) -> Progress:
    """Pass on what is done; the last line is the digest."""

    def tell(line: str) -> None:
        if not line.startswith("sha256:"):
            progress(f"{SLUG}: {line}")

    return tell
