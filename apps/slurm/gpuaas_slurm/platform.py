"""Slurm as one of the platform's own apps: what its package publishes and runs, see `gpuaas_sdk.platform_apps`.

The packages that hosts install are not in the Python package. Where the dpkg status of a host is known, the platform builds
their bundle by itself (`prepare`); elsewhere `gpuaas-slurm-bundle` does, on a machine of the hosts' release.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from gpuaas_sdk.platform_apps import AppNotReady, PlatformApp

BUNDLE = Path("/var/lib/gpuaas-slurm/slurm.tar")
HOST_STATUS = Path("/var/lib/gpuaas-slurm/host-status")
PROGRAM = "slurmctld"


def platform_app() -> PlatformApp:
    """Returns the app, if its packages are at GPUAAS_SLURM_BUNDLE (default: /var/lib/gpuaas-slurm/slurm.tar), or else the
    command that builds them for hosts of the dpkg status at GPUAAS_SLURM_HOST_STATUS (default: host-status, beside it).
    """
    bundle = Path(os.environ.get("GPUAAS_SLURM_BUNDLE") or BUNDLE)
    if not bundle.is_file():
        return PlatformApp(title="Slurm", prepare=_bundle_command(bundle))
    return PlatformApp(
        manifest=files("gpuaas_slurm").joinpath("manifest.yaml").read_text(),
        artifact=bundle,
        media_type="application/x-tar",
        check=check_bundle,
        controller=(sys.executable, "-m", "gpuaas_slurm.controller"),
        # Each added worker is an operation of its own, and most of its time is waiting for the host.
        environment={"GPUAAS_CONCURRENCY": "32"},
    )


def _bundle_command(bundle: Path) -> tuple[str, ...]:
    """Return the command that builds the bundle from this machine's apt sources; it must be of the hosts' release."""
    status = Path(os.environ.get("GPUAAS_SLURM_HOST_STATUS") or HOST_STATUS)
    if not status.is_file() or shutil.which("apt-get") is None:
        raise AppNotReady(
            f"There are no packages at {bundle}. On a machine of the hosts' Debian release, put the dpkg status of a host"
            f" without apps at {status}, or build them there: `gpuaas-slurm-bundle --host-status STATUS {bundle}`."
        )
    return (sys.executable, "-m", "gpuaas_slurm.bundle", "--host-status", str(status), str(bundle))


def check_bundle(bundle: Path) -> Mapping[str, str]:
    """Check the packages against their index, and look for the scheduler's program."""
    with tarfile.open(bundle) as archive:
        found = {one.name: archive.extractfile(one) for one in archive.getmembers()}
        contents = {name: file.read() for name, file in found.items() if file is not None}
    index = contents.pop("Packages", b"").decode()
    listed = {line.split()[1] for line in index.splitlines() if line.startswith("SHA256:")}
    if listed != {hashlib.sha256(content).hexdigest() for content in contents.values()}:
        raise AppNotReady(f"The packages in {bundle} do not match their index. Build the bundle again.")
    name = next((one for one in contents if one.startswith(f"{PROGRAM}_")), None)
    if name is None or not _has_program(contents[name]):
        raise AppNotReady(f"{bundle} has no {PROGRAM}. Build the bundle again.")
    return {"lint": f"{len(contents)} packages match the index.", "smoke": f"{name} contains {PROGRAM}."}


def _has_program(package: bytes) -> bool:
    """Open the package where this machine can; elsewhere its name and its digest in the index have to do."""
    if shutil.which("dpkg-deb") is None:
        return True
    shown = subprocess.run(["dpkg-deb", "--contents", "/dev/stdin"], input=package, capture_output=True, check=False)
    return f" ./usr/sbin/{PROGRAM}".encode() in shown.stdout
