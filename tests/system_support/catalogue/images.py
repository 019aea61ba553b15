"""Images of the catalogue on this machine: built once from the lab's root file system, and kept beside the lab's caches."""

from functools import cache

from gpuaas_catalogue.images.builder import ensure_image
from gpuaas_catalogue.images.cache import BuildCache
from gpuaas_catalogue.images.debian import DebianBase, read_base
from gpuaas_catalogue.manifests import recipe_of
from gpuaas_lab import rootfs
from gpuaas_lab.container_engine import IMAGE_BASE
from gpuaas_lab.layout import IMAGES_DIR
from gpuaas_sdk.image_layouts import ImageLayout

CACHE = BuildCache(IMAGES_DIR)


@cache
def lab_base() -> DebianBase:
    return read_base(IMAGE_BASE.ensure(print), rootfs.ensure(print))


def image_of(app: str, cache: BuildCache = CACHE) -> ImageLayout:
    recipe = recipe_of(app)
    assert recipe is not None, f"{app} has no recipe"
    return ensure_image(recipe, lab_base(), cache)
