"""The disk and the kernel of a virtual machine that boots as one of a cloud does: Debian with cloud-init and podman.

Built once per machine from what lab hosts have, and shared: each guest writes to an overlay of its own.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gpuaas_lab.built_folder import BuiltFolder, Progress, complete_below
from gpuaas_lab.container_engine import CONTAINER_ENGINE
from gpuaas_lab.files import used_stamp
from gpuaas_lab.layout import GUEST_DISKS_DIR
from gpuaas_lab.rootfs import ensure as ensure_rootfs

BUILD_TIMEOUT = 1200.0
# A machine of its own needs none of a lab host's settings beside the runtime.
_ENGINE_SETTINGS = """[network]
network_backend = "netavark"

[engine]
runtime = "runc"
"""
# Runs in a separate mount namespace, so that a killed builder leaves no mount. The initial file system has only what finds
# the disk: it is unpacked at every boot by an emulated processor.
_BUILD = """set -e
lower=$1 upper=$2 work=$3 root=$4 made=$5 settings=$6
mount -t overlay guest -o "lowerdir=$lower,upperdir=$upper,workdir=$work" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind /etc/apt "$root/etc/apt"
cat /etc/resolv.conf > "$root/etc/resolv.conf"
printf '#!/bin/sh\\nexit 101\\n' > "$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
mkdir -p "$root/usr/share/initramfs-tools/conf.d" "$root/usr/share/initramfs-tools/modules.d"
printf 'MODULES=list\\nCOMPRESS=zstd\\n' > "$root/usr/share/initramfs-tools/conf.d/guest"
printf 'virtio_pci\\nvirtio_blk\\next4\\n' > "$root/usr/share/initramfs-tools/modules.d/guest"
export DEBIAN_FRONTEND=noninteractive
chroot "$root" apt-get -q update
chroot "$root" apt-get -q install -y --no-install-recommends zstd initramfs-tools linux-image-cloud-amd64
chroot "$root" apt-get clean
rm -f "$root/etc/systemd/system/systemd-networkd.service" "$root/usr/sbin/policy-rc.d" "$root/var/lib/dbus/machine-id"
find "$root/var/lib/apt/lists" -type f -delete
printf '%s' "$settings" > "$root/etc/containers/containers.conf"
printf '/dev/vda / ext4 rw,noatime 0 1\\n' > "$root/etc/fstab"
: > "$root/etc/resolv.conf"
chroot "$root" systemctl --quiet enable cloud-init-local cloud-init cloud-config cloud-final systemd-networkd
umount "$root/etc/apt" "$root/proc"
umount --recursive "$root/dev"
mkdir "$made"
mv "$root"/boot/vmlinuz-* "$made/kernel"
mv "$root"/boot/initrd.img-* "$made/initrd"
truncate --size 3G "$made/disk.raw"
mkfs.ext4 -q -F -d "$root" "$made/disk.raw"
"""


@dataclass(frozen=True)
class GuestDisk:
    folder: Path

    @property
    def kernel(self) -> Path:
        return self.folder / "kernel"

    @property
    def initial_files(self) -> Path:
        return self.folder / "initrd"

    @property
    def disk(self) -> Path:
        return self.folder / "disk.raw"


def path() -> Path:
    """Return the folder, named by the hashes of what lab hosts have and of its own recipe."""
    recipe = json.dumps([CONTAINER_ENGINE.path.name, _BUILD, _ENGINE_SETTINGS])
    return GUEST_DISKS_DIR / hashlib.sha256(recipe.encode()).hexdigest()[:16]


def all_cached() -> list[Path]:
    """Return the disks of this recipe and of earlier ones."""
    return complete_below(GUEST_DISKS_DIR)


def ensure(progress: Progress) -> GuestDisk:
    """Return the disk; build it first, in some minutes, if this machine has none of this recipe."""
    folder = BuiltFolder(path(), "the disk of a guest")
    if not folder.path.is_dir():
        lower = f"{CONTAINER_ENGINE.ensure(progress)}:{ensure_rootfs(progress)}"
        folder.ensure(partial(_build, folder, lower), BUILD_TIMEOUT, progress)
    used_stamp(folder.path).touch()
    return GuestDisk(folder.path)


def _build(folder: BuiltFolder, lower: str) -> Path:
    upper, work, root, made = (folder.building / name for name in ("upper", "work", "root", "made"))
    for part in (upper, work, root):
        part.mkdir()
    argv = ["sh", "-c", _BUILD, "sh", lower, *map(str, (upper, work, root, made)), _ENGINE_SETTINGS]
    folder.run(argv, lambda line: None, BUILD_TIMEOUT)
    return made
