"""The root file system that all lab hosts and slices share, built once by debootstrap.

Its folder is named by a hash of its recipe.
"""

import hashlib
import json
import time
from functools import partial
from pathlib import Path

from gpuaas_lab.built_folder import BuiltFolder, Progress, complete_below
from gpuaas_lab.layout import ROOTFS_DIR
from gpuaas_lab.sources import package_mirror, release_codename

BUILD_TIMEOUT = 900.0
_PROGRESS_EVERY = 3.0

PACKAGES = (
    *("systemd", "systemd-sysv", "dbus", "openssh-server", "sudo", "python3", "python3-cryptography"),
    *("iproute2", "procps", "cron", "systemd-container", "nftables", "ethtool", "ca-certificates"),
    *("less", "curl", "kmod", "util-linux", "iputils-ping", "e2fsprogs", "libcap2-bin"),
    # debootstrap does not follow virtual packages: python3-cryptography needs this one.
    "python3-cffi-backend",
)

# Lab hosts have no console, clock or outside network, so these services would only slow the boot.
MASKED_UNITS = [
    "systemd-timesyncd.service",
    "systemd-networkd.service",
    "systemd-resolved.service",
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "systemd-pstore.service",
    "getty.target",
    "console-getty.service",
]

FILES = {
    "etc/machine-id": "",
    "etc/hostname": "lab\n",
    "etc/resolv.conf": "",
    "etc/apt/sources.list": "",
    "etc/ssh/sshd_config.d/10-lab.conf": "PasswordAuthentication no\nMaxStartups 100\n",
}


def recipe_hash() -> str:
    recipe = [release_codename(), PACKAGES, MASKED_UNITS, FILES]
    return hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:16]


def path() -> Path:
    """Return the path of the root file system of this recipe."""
    return ROOTFS_DIR / recipe_hash()


def cached() -> Path | None:
    return path() if path().is_dir() else None


def all_cached() -> list[Path]:
    """Return the root file systems of this recipe and of earlier ones."""
    return complete_below(ROOTFS_DIR)


def ensure(progress: Progress) -> Path:
    """Return the root file system; build it first, in about a minute, if this machine has none of this recipe."""
    folder = BuiltFolder(path(), "the root file system of lab hosts")
    return folder.ensure(partial(_build, folder, progress), BUILD_TIMEOUT, progress)


def _build(folder: BuiltFolder, progress: Progress) -> Path:
    codename = release_codename()
    options = ["--variant=minbase", f"--include={','.join(PACKAGES)}"]
    argv = ["debootstrap", *options, codename, str(folder.building), package_mirror(codename)]
    folder.run(argv, _at_intervals(progress), BUILD_TIMEOUT)
    progress("packages are installed; preparing the image")
    _prepare(folder.building)
    return folder.building


def _at_intervals(progress: Progress) -> Progress:
    """Pass on one line every few seconds: debootstrap prints hundreds of lines."""
    began = last = time.monotonic()

    def say(line: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _PROGRESS_EVERY:
            last = now
            progress(f"{now - began:4.0f} s  {line[:90]}")

    return say


def _prepare(target: Path) -> None:
    unwanted = ("etc/ssh/ssh_host_*", "var/cache/apt/archives/*.deb", "var/lib/apt/lists/*_*", "var/log/*.log")
    for found in [found for pattern in unwanted for found in target.glob(pattern)]:
        found.unlink()
    for unit in MASKED_UNITS:
        link = target / "etc/systemd/system" / unit
        link.unlink(missing_ok=True)
        link.symlink_to("/dev/null")
    for name, text in FILES.items():
        file = target / name
        file.unlink(missing_ok=True)
        file.write_text(text)
        file.chmod(0o644)
