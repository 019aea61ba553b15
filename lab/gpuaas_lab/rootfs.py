"""The root file system that all lab hosts and slices share, built once by debootstrap.

Kept under a hash of its recipe. A folder of that name is complete: it got its name by one rename.
"""

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path

from gpuaas_lab import cgroups
from gpuaas_lab.commands import follow
from gpuaas_lab.errors import CommandFailed, LabError
from gpuaas_lab.files import locked, remove_folder
from gpuaas_lab.layout import PREFIX, ROOTFS_DIR
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

# A host without a console, a clock or a way out has no use for these; they only slow the boot.
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

Progress = Callable[[str], None]


def recipe_hash() -> str:
    recipe = [release_codename(), PACKAGES, MASKED_UNITS, FILES]
    return hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:16]


def path() -> Path:
    """Where the root file system of this recipe is, once it is built."""
    return ROOTFS_DIR / recipe_hash()


def cached() -> Path | None:
    return path() if path().is_dir() else None


def all_cached() -> list[Path]:
    """Of this recipe and of earlier ones."""
    return [folder for folder in ROOTFS_DIR.glob("*") if folder.is_dir() and not folder.suffix]


def discard_cached(folder: Path) -> bool:
    """Remove one of another recipe, unless somebody is at it. A part of one never has a complete one's name."""
    try:
        with locked(ROOTFS_DIR / f"{folder.name}.lock", 0.0, "a builder"):
            _discard(folder.name)
            folder.rename(ROOTFS_DIR / f"{folder.name}.building")
            _discard(folder.name)
    except LabError:
        return False
    return True


def ensure(progress: Progress) -> Path:
    """The root file system; builds it when this machine has none of this recipe."""
    if ready := cached():
        return ready
    name = recipe_hash()
    lock = ROOTFS_DIR / f"{name}.lock"
    with locked(lock, BUILD_TIMEOUT, "another process to build the root file system", progress):
        if ready := cached():
            return ready
        return _build(name, progress)


def remove_dead_builds() -> None:
    """What builders that died left behind: their processes, mounts and folders."""
    for folder in ROOTFS_DIR.glob("*.building"):
        name = folder.name.removesuffix(".building")
        try:
            with locked(ROOTFS_DIR / f"{name}.lock", 0.0, "a builder"):
                _discard(name)
        except LabError:
            continue  # its builder is alive


def _discard(name: str) -> None:
    cgroups.remove(_build_group(name))
    remove_folder(ROOTFS_DIR / f"{name}.building")


def _build_group(name: str) -> str:
    return f"{PREFIX}build-{name}"


def _build(name: str, progress: Progress) -> Path:
    began = time.monotonic()
    building, complete = ROOTFS_DIR / f"{name}.building", ROOTFS_DIR / name
    _discard(name)
    building.mkdir(parents=True)
    progress(f"building the root file system of lab hosts in {complete} (about a minute, once)")
    try:
        _debootstrap(name, building, progress)
        progress("packages are installed; preparing the image")
        _prepare(building)
    except CommandFailed as failure:
        raise LabError(
            f"debootstrap could not build the root file system: {failure.output.strip()[-600:]}\n"
            "Check that `apt-get update` works on this machine, then try again."
        ) from failure
    finally:
        cgroups.remove(_build_group(name))
    building.rename(complete)
    progress(f"the root file system is ready after {time.monotonic() - began:.0f} s")
    return complete


def _debootstrap(name: str, target: Path, progress: Progress) -> None:
    codename = release_codename()
    # In a cgroup, so that a builder that dies leaves no nameless dpkg behind; in namespaces, so that a builder
    # that is killed takes everything with it, mounts included.
    cgroups.create(_build_group(name))
    join = cgroups.join_script(_build_group(name))
    script = f'set -e\n{join}\nexec unshare --mount --pid --fork --kill-child debootstrap "$@"'
    options = ["--variant=minbase", f"--include={','.join(PACKAGES)}"]
    argv = ["sh", "-c", script, "sh", *options, codename, str(target), package_mirror(codename)]
    follow(argv, _at_intervals(progress), timeout=BUILD_TIMEOUT)


def _at_intervals(progress: Progress) -> Progress:
    """debootstrap says hundreds of lines; one every few seconds shows that it is alive."""
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
