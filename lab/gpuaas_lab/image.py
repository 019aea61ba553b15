"""Writes what differs between hosts before their first boot: names, keys, hardware.

It is a layer below the host's own changes, so that `upper` contains only those.
"""

import uuid
from pathlib import Path

from gpuaas_lab import cgroups
from gpuaas_lab.commands import execute
from gpuaas_lab.hardware import write_serial_numbers
from gpuaas_lab.layout import HostLayout

HARDWARE_ROOT = "/var/lib/gpuaas/hw"
NVIDIA_MAJOR = 195

_HARDWARE_UNIT = """[Unit]
Description=Device nodes and control groups of this machine
DefaultDependencies=no
Before=sysinit.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -e /usr/lib/gpuaas-lab/hardware.sh
"""


def write_layer(host: HostLayout) -> None:
    """Write everything that the lab defines for a host, as plain files."""
    layer = host.layer
    _write(layer / "etc/hostname", f"{host.name}\n")
    _write(layer / "etc/hosts", f"127.0.0.1 localhost\n{host.address} {host.name}\n")
    _write(layer / "etc/machine-id", f"{uuid.uuid4().hex}\n", mode=0o444)
    _write(layer / "usr/lib/gpuaas-lab/hardware.sh", _hardware_script(host))
    units = layer / "usr/lib/systemd/system"
    _write(units / "gpuaas-lab-hardware.service", _HARDWARE_UNIT)
    wants = units / "sysinit.target.wants"
    wants.mkdir(parents=True)
    (wants / "gpuaas-lab-hardware.service").symlink_to("../gpuaas-lab-hardware.service")
    write_serial_numbers(layer / HARDWARE_ROOT.lstrip("/"), host.name, host.fleet.gpus_per_host)
    _write_host_key(layer / "etc/ssh/ssh_host_ed25519_key", host.name)


def _hardware_script(host: HostLayout) -> str:
    lines = cgroups.layout().boot_commands()
    for index in range(host.fleet.gpus_per_host):
        node = f"/dev/nvidia{index}"
        lines.append(f"[ -e {node} ] || mknod -m 666 {node} c {NVIDIA_MAJOR} {index}")
    return "\n".join(lines) + "\n"


def _write_host_key(path: Path, comment: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    execute(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)])


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
