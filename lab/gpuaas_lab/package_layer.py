"""More packages on the hosts of a fleet: a read-only layer over the shared root file system, built once by apt.

A host then has them as if they had come with its disk: they are there before a tenant is, and nothing of them runs.
"""

import hashlib
import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from gpuaas_lab import cgroups, rootfs
from gpuaas_lab.commands import follow
from gpuaas_lab.errors import CommandFailed, LabError
from gpuaas_lab.files import locked, remove_folder
from gpuaas_lab.layout import LAYERS_DIR, PREFIX
from gpuaas_lab.rootfs import Progress

BUILD_TIMEOUT = 600.0
# In a mount namespace of its own, so that a builder that is killed leaves no mount. The machine's own apt settings say
# where packages come from; services are not started in there.
_INSTALL = """set -e
base=$1 upper=$2 work=$3 root=$4; shift 4
mount -t overlay layer -o "lowerdir=$base,upperdir=$upper,workdir=$work" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind /etc/apt "$root/etc/apt"
cat /etc/resolv.conf > "$root/etc/resolv.conf"
printf '#!/bin/sh\\nexit 101\\n' > "$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
export DEBIAN_FRONTEND=noninteractive
chroot "$root" apt-get -q update
chroot "$root" apt-get -q install -y --no-install-recommends -- "$@"
"""
# What the building itself changed, which is none of a host's.
_UNWANTED = ("etc/resolv.conf", "usr/sbin/policy-rc.d", "var/cache", "var/lib/apt", "var/log", "tmp", "run")


@dataclass(frozen=True)
class PackageLayer:
    name: str
    packages: tuple[str, ...]

    @property
    def path(self) -> Path:
        """Kept under the hashes of the root file system below it and of its own recipe. A folder of that name is complete."""
        recipe = json.dumps([self.name, self.packages, _INSTALL, _UNWANTED])
        return LAYERS_DIR / f"{rootfs.recipe_hash()}-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}"

    def ensure(self, progress: Progress) -> Path:
        if self.path.is_dir():
            return self.path
        base = rootfs.ensure(progress)
        with locked(_lock(self.path), BUILD_TIMEOUT, f"another process to build the layer {self.name}", progress):
            if not self.path.is_dir():
                _build(self, base, progress)
        return self.path


def all_cached() -> list[Path]:
    """Of this root file system and of earlier ones."""
    return [folder for folder in LAYERS_DIR.glob("*") if folder.is_dir() and not folder.suffix]


def of_earlier_root(folder: Path) -> bool:
    return not folder.name.startswith(f"{rootfs.recipe_hash()}-")


def discard_cached(folder: Path) -> bool:
    """Remove one, unless somebody builds it. A part of one never has a complete one's name."""
    try:
        with locked(_lock(folder), 0.0, "a builder"):
            _discard(folder)
            folder.rename(_building(folder))
            _discard(folder)
    except LabError:
        return False
    return True


def remove_dead_builds() -> None:
    """What builders that died left behind: their processes and folders; their mounts went with them."""
    for building in LAYERS_DIR.glob("*.building"):
        folder = building.with_suffix("")
        try:
            with locked(_lock(folder), 0.0, "a builder"):
                _discard(folder)
        except LabError:
            continue  # its builder is alive


def _build(layer: PackageLayer, base: Path, progress: Progress) -> None:
    began, building, group = time.monotonic(), _building(layer.path), _group(layer.path)
    _discard(layer.path)
    upper, work, root = (building / name for name in ("upper", "work", "root"))
    for folder in (upper, work, root):
        folder.mkdir(parents=True)
    progress(f"building the package layer {layer.name} of lab hosts (once)")
    cgroups.create(group)
    script = f'set -e\n{cgroups.join_script(group)}\nexec unshare --mount --pid --fork --kill-child sh -c "$@"'
    argv = ["sh", "-c", script, "sh", _INSTALL, "sh", *map(str, (base, upper, work, root)), *layer.packages]
    try:
        follow(argv, lambda line: None, timeout=BUILD_TIMEOUT)
    except CommandFailed as failure:
        raise LabError(
            f"apt could not build the layer {layer.name}: {failure.output.strip()[-600:]}\n"
            "Check that `apt-get update` works on this machine, then try again."
        ) from failure
    finally:
        cgroups.remove(group)
    _tidy(upper)
    upper.rename(layer.path)
    _discard(layer.path)
    progress(f"the package layer {layer.name} is ready after {time.monotonic() - began:.0f} s")


def _tidy(upper: Path) -> None:
    """Only the packages stay, and nothing of them starts by itself."""
    for name in _UNWANTED:
        unwanted = upper / name
        if unwanted.is_dir():
            _keep_folders(unwanted)
        else:
            unwanted.unlink(missing_ok=True)
    for links in upper.glob("etc/systemd/system/*.wants"):
        shutil.rmtree(links)


def _keep_folders(folder: Path) -> None:
    """A package may bring an empty folder for its caches or logs, with an owner of its own."""
    for found in sorted(folder.rglob("*"), reverse=True):
        if not found.is_dir() or found.is_symlink():
            found.unlink()


def _discard(folder: Path) -> None:
    cgroups.remove(_group(folder))
    remove_folder(_building(folder))


def _building(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.building")


def _lock(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


def _group(folder: Path) -> str:
    return f"{PREFIX}layer-{folder.name}"
