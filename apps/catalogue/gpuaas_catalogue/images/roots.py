"""The root file system from which images are made: that of GPUAAS_CATALOGUE_BASE, or one that debootstrap makes here.

The address of the package archive is that of this machine's own apt sources.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from gpuaas_catalogue.images.cache import BuildCache
from gpuaas_catalogue.images.debian import INSTALLED, DebianBase, read_base
from gpuaas_catalogue.images.errors import BuildFailed
from gpuaas_catalogue.images.programs import run_isolated

RELEASE = "bookworm"  # the requirements are for its Python and its libc
BASE_VARIABLE = "GPUAAS_CATALOGUE_BASE"
_TIMEOUT = 1200.0
_INDEX = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)", "Created-By: Packages"]


def ready_base(cache: BuildCache, packages: Sequence[str]) -> DebianBase | None:
    """Return the base of a recipe with these packages if it is on this machine; None if it must be made first."""
    named = _named_roots()
    if named:
        return read_base(*named)
    made = cache.folder / _root_name(_installed(packages))
    return read_base(made) if made.is_dir() else None


def ensure_base(cache: BuildCache, packages: Sequence[str]) -> DebianBase:
    """Return the base; make it first, in a minute or two, if this machine has none with these packages."""
    named = _named_roots()
    if named:
        return read_base(*named)
    installed = _installed(packages)
    return read_base(cache.ensure(_root_name(installed), lambda target: _bootstrap(target, installed)))


def _installed(packages: Sequence[str]) -> list[str]:
    """Returns what is installed. Recipes that need no further packages share one root file system."""
    return [*INSTALLED, *sorted(set(packages) - set(INSTALLED))]


def _named_roots() -> list[Path]:
    """Returns the layers of a root file system, the topmost first, with colons between them."""
    return [Path(one) for one in os.environ.get(BASE_VARIABLE, "").split(":") if one]


def _root_name(installed: Sequence[str]) -> str:
    return f"root-{RELEASE}-{hashlib.sha256(' '.join(installed).encode()).hexdigest()[:16]}"


def _bootstrap(target: Path, installed: Sequence[str]) -> None:
    program = shutil.which("debootstrap", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None or os.geteuid() != 0:
        raise BuildFailed(
            "Making a root file system needs root and debootstrap.",
            f"Install debootstrap and run the platform's apps as root, or make it elsewhere and name it in {BASE_VARIABLE}.",
        )
    options = ["--variant=minbase", f"--include={','.join(installed)}"]
    argv = [program, *options, RELEASE, str(target), _archive()]
    done = run_isolated(argv, _TIMEOUT)
    if done.returncode != 0:
        raise BuildFailed(
            f"debootstrap failed: {(done.stdout + done.stderr).strip()[-400:]}.",
            "Check that `apt-get update` works on this machine.",
        )
    shutil.rmtree(target / "var/cache/apt", ignore_errors=True)


def _archive() -> str:
    """Find where this machine gets the packages of the release."""
    try:
        listed = subprocess.run(_INDEX, capture_output=True, text=True, timeout=60.0, check=False).stdout
    except FileNotFoundError:
        listed = ""
    for line in listed.splitlines():
        address, _, release = line.partition(" ")
        if release == RELEASE:
            return address
    raise BuildFailed(
        f"No apt source of this machine has Debian {RELEASE}.",
        f"Add one, or name a root file system of it in {BASE_VARIABLE}.",
    )
