"""The apps of this package as the platform's own, see `gpuaas_sdk.platform_apps`: those that need nothing but their image.

An image that is not in the cache is built by a process of its own, while the platform serves already.
"""

import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from gpuaas_catalogue.images.builder import find_image
from gpuaas_catalogue.images.cache import BuildCache
from gpuaas_catalogue.images.errors import BuildFailed
from gpuaas_catalogue.images.roots import ready_base
from gpuaas_catalogue.manifests import manifest_of, required_recipe
from gpuaas_sdk.image_layouts import ImageLayout
from gpuaas_sdk.platform_apps import AppNotReady, PlatformApp
from gpuaas_sdk.signatures import digest_of

CACHE = Path("/var/cache/gpuaas-catalogue")


def image_cache() -> BuildCache:
    """Returns where images are kept: GPUAAS_CATALOGUE_CACHE, or /var/cache/gpuaas-catalogue."""
    return BuildCache(Path(os.environ.get("GPUAAS_CATALOGUE_CACHE") or CACHE))


def provided_app(name: str) -> PlatformApp:
    """Return the app with its image; without one, the command that builds it."""
    recipe, cache = required_recipe(name), image_cache()
    try:
        base = ready_base(cache, recipe.packages)
    except BuildFailed as failure:
        raise AppNotReady(str(failure)) from failure
    image = None if base is None else find_image(recipe, base, cache)
    if image is None:
        command = (sys.executable, "-m", "gpuaas_catalogue", "build", name, "--cache", str(cache.folder))
        return PlatformApp(title=recipe.title, artifact_kind="oci", prepare=command)
    return PlatformApp(
        manifest=manifest_of(name, {"image": image.digest}),
        artifact=image.folder,
        artifact_kind="oci",
        check=check_image,
    )


any_image = partial(provided_app, "any-image")
jupyter = partial(provided_app, "jupyter")
marimo = partial(provided_app, "marimo")
tensorboard = partial(provided_app, "tensorboard")


def check_image(folder: Path) -> Mapping[str, str]:
    """Read every byte of the image again: a cache may have been damaged since it was built."""
    parts = ImageLayout(folder).parts()
    for part in parts:
        if digest_of(part) != f"sha256:{part.name}":
            raise AppNotReady(f"{part} does not have its digest. Remove {folder}, so that the image is built again.")
    return {"lint": f"{len(parts)} parts of the image have the digests that its manifest names."}
