"""Additional packages on the hosts of a fleet: a read-only layer over the shared root file system, built once by apt.

The packages are part of a host's disk before any tenant uses it, and none of their services runs.
"""

import hashlib
import json
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gpuaas_lab import rootfs
from gpuaas_lab.built_folder import BuiltFolder, Progress, complete_below
from gpuaas_lab.layout import LAYERS_DIR

BUILD_TIMEOUT = 600.0
# Runs in a separate mount namespace, so that a killed builder leaves no mount. Packages come from the machine's own apt
# sources; no service is started.
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
# Changes of the build itself, which do not belong on a host.
_UNWANTED = ("etc/resolv.conf", "usr/sbin/policy-rc.d", "var/cache", "var/lib/apt", "var/log", "tmp", "run")


@dataclass(frozen=True)
class PackageLayer:
    """`files` are written after the packages are installed, by path. `plain_folders` are on a plain file system of the
    machine instead of the host's overlay: an engine that mounts overlays itself cannot keep them on another overlay.
    """

    name: str
    packages: tuple[str, ...]
    files: tuple[tuple[str, str], ...] = ()
    plain_folders: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The folder, named by the hashes of the root file system below it and of its own recipe."""
        recipe = json.dumps([self.name, self.packages, _INSTALL, _UNWANTED, *self.files])
        return LAYERS_DIR / f"{rootfs.recipe_hash()}-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}"

    def ensure(self, progress: Progress) -> Path:
        if self.path.is_dir():
            return self.path
        base = rootfs.ensure(progress)
        folder = BuiltFolder(self.path, f"the package layer {self.name} of lab hosts")
        return folder.ensure(partial(_build, folder, base, self), BUILD_TIMEOUT, progress)


def all_cached() -> list[Path]:
    """Return the layers of this root file system and of earlier ones."""
    return complete_below(LAYERS_DIR)


def of_earlier_root(folder: Path) -> bool:
    return not folder.name.startswith(f"{rootfs.recipe_hash()}-")


def _build(folder: BuiltFolder, base: Path, layer: PackageLayer) -> Path:
    upper, work, root = (folder.building / name for name in ("upper", "work", "root"))
    for part in (upper, work, root):
        part.mkdir()
    argv = ["sh", "-c", _INSTALL, "sh", *map(str, (base, upper, work, root)), *layer.packages]
    folder.run(argv, lambda line: None, BUILD_TIMEOUT)
    _tidy(upper)
    for path, text in layer.files:
        file = upper / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return upper


def _tidy(upper: Path) -> None:
    """Keep only the packages, and disable their services."""
    for name in _UNWANTED:
        unwanted = upper / name
        if unwanted.is_dir():
            _keep_folders(unwanted)
        else:
            unwanted.unlink(missing_ok=True)
    for links in upper.glob("etc/systemd/system/*.wants"):
        shutil.rmtree(links)


def _keep_folders(folder: Path) -> None:
    """Keep empty folders for caches or logs that a package created with its own owner."""
    for found in sorted(folder.rglob("*"), reverse=True):
        if not found.is_dir() or found.is_symlink():
            found.unlink()
