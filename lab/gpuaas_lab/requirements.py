"""Checks what a machine needs to run lab hosts, and says how to get it."""

import os
import platform
import shutil
import subprocess
from pathlib import Path

from gpuaas_lab.cgroup_layouts import layout_problems

# program → Debian package
PROGRAMS = {
    "systemd-nspawn": "systemd-container",
    "debootstrap": "debootstrap",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "unshare": "util-linux",
    "mount": "mount",
    "chattr": "e2fsprogs",
    "ssh-keygen": "openssh-client",
}
_SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def missing_requirements() -> list[str]:
    if platform.system() != "Linux":
        return ["lab hosts need Linux; on other systems use the simulated fleet"]
    missing = []
    if os.geteuid() != 0:
        missing.append("lab hosts need root: run the same command as root")
    absent = [name for name in PROGRAMS if shutil.which(name, path=_SEARCH_PATH) is None]
    if absent:
        packages = " ".join(sorted({PROGRAMS[name] for name in absent}))
        missing.append(f"{', '.join(absent)} not found: run `apt-get install {packages}`")
    missing += _missing_kernel_parts()
    return missing


def _missing_kernel_parts() -> list[str]:
    missing = layout_problems()
    if not _has_overlay():
        missing.append("the kernel has no overlay file system: install Debian's own kernel (linux-image-amd64)")
    return missing


def _has_overlay() -> bool:
    """Tell whether the overlay module is loaded, or can be loaded by the first mount."""
    if "overlay" in Path("/proc/filesystems").read_text():
        return True
    modprobe = shutil.which("modprobe", path=_SEARCH_PATH)
    return modprobe is not None and subprocess.run([modprobe, "--dry-run", "--quiet", "overlay"]).returncode == 0
