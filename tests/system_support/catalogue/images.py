"""Images of the catalogue on this machine: built once from the lab's root file system, and kept beside the lab's caches."""

from functools import cache

from gpuaas_catalogue.images.builder import ensure_image
from gpuaas_catalogue.images.cache import BuildCache
from gpuaas_catalogue.images.debian import DebianBase, read_base
from gpuaas_catalogue.images.layouts import ImageLayout
from gpuaas_catalogue.manifests import recipe_of
from gpuaas_lab import rootfs
from gpuaas_lab.layout import DATA_DIR
from gpuaas_lab.package_layer import PackageLayer

CACHE = BuildCache(DATA_DIR / "images")
# What images need of Debian and lab hosts do not have.
_MORE_PACKAGES = PackageLayer("image-base", ("libgomp1",))


@cache
def lab_base() -> DebianBase:
    return read_base(_MORE_PACKAGES.ensure(print), rootfs.ensure(print))


def image_of(app: str, cache: BuildCache = CACHE) -> ImageLayout:
    recipe = recipe_of(app)
    assert recipe is not None, f"{app} has no recipe"
    return ensure_image(recipe, lab_base(), cache)
