"""The apps of the demo, as an operator has them: installed with their packages, so that the platform provides them by itself.

Slurm is an app like any other: the demo imports none of its code and runs its programs as users do. JupyterLab is one too.
"""

import hashlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from gpuaas_lab import rootfs
from gpuaas_lab.built_folder import Progress
from gpuaas_lab.commands import follow
from gpuaas_lab.demo import notebook_image
from gpuaas_lab.demo.notebook_image import ImageSources
from gpuaas_lab.errors import CommandFailed, LabError
from gpuaas_lab.files import locked, used_lately
from gpuaas_lab.layout import DATA_DIR
from gpuaas_lab.programs import program

SLUG = "slurm"
PROVIDED = f"containers,{notebook_image.SLUG},{SLUG}"  # the images of others would be built beside the demo
BUILD_SECONDS = 600.0
_FOLDER = Path(__file__).resolve().parents[3] / "apps" / SLUG / f"gpuaas_{SLUG}"
_APT = Path(__file__).resolve().parents[3] / "tools/apt"
_RECIPE = ("bundle.py", "packages.py")  # the list of packages, and the code that bundles them


@dataclass(frozen=True)
class App:
    packages: Path
    images: ImageSources


def ensure(progress: Progress) -> App:
    """Return what the demo's apps need. The first call on a machine fetches it over the network; later calls reuse it."""
    return App(ensure_packages(progress), notebook_image.ensure(progress))


def ensure_packages(progress: Progress) -> Path:
    """Return the file with Slurm's packages."""
    manifest = _FOLDER / "manifest.yaml"
    if not manifest.exists():
        raise LabError(f"the app is not at {_FOLDER}: run this from a complete checkout")
    image = rootfs.ensure(progress)
    packages = DATA_DIR / f"{SLUG}-{_recipe_hash()}.packages"
    with locked(DATA_DIR / f"{SLUG}.lock", BUILD_SECONDS, f"another process to fetch {SLUG}'s packages", progress):
        if not packages.exists():
            _build(image, packages, progress)
        packages.touch()
        _remove_unused(packages)
    return packages


def platform_apps(app: App | None) -> dict[str, str]:
    """Return the settings with which the platform provides its apps. On a simulated fleet nothing can be installed."""
    if app is None:
        return {"GPUAAS_PLATFORM_APPS": "none"}
    names = os.environ.get("GPUAAS_PLATFORM_APPS") or PROVIDED
    return {"GPUAAS_PLATFORM_APPS": names, f"GPUAAS_{SLUG.upper()}_BUNDLE": str(app.packages), **app.images.settings}


def _recipe_hash() -> str:
    """Hash the app's recipe and the hosts' root file system: packages that a host already has are not in the bundle."""
    seen = hashlib.sha256(rootfs.recipe_hash().encode())
    for name in _RECIPE:
        seen.update((_FOLDER / name).read_bytes())
    return seen.hexdigest()[:16]


def _remove_unused(packages: Path) -> None:
    """Remove bundles of earlier recipes, except those that another checkout on this machine used recently."""
    for other in DATA_DIR.glob(f"{SLUG}-*.packages*"):
        if other != packages and not used_lately(other):
            other.unlink()


def _build(image: Path, packages: Path, progress: Progress) -> None:
    began = time.monotonic()
    partial = packages.with_suffix(".packages.partial")
    make = [program(f"gpuaas-{SLUG}-bundle"), "--host-status", str(image / "var/lib/dpkg/status"), str(partial)]
    progress(f"fetching {SLUG}'s packages (once)")
    try:
        for argv in ([str(_APT), "-q", "update"], make):
            follow(argv, lambda line: None, timeout=BUILD_SECONDS)
    except CommandFailed as failure:
        raise LabError(
            f"{SLUG}'s packages could not be fetched: {failure.output.strip()[-600:]}\n"
            "Check that `apt-get update` works on this machine, then try again."
        ) from failure
    size = partial.stat().st_size
    partial.rename(packages)
    progress(f"{SLUG}'s packages are ready after {time.monotonic() - began:.0f} s, {size / 1e6:.0f} MB")
