"""Boots one host: systemd-nspawn on an overlay over the shared root file system."""

import shlex
from pathlib import Path
from urllib.parse import unquote

from gpuaas_lab import cgroups, fabric
from gpuaas_lab.commands import ENVIRONMENT, execute
from gpuaas_lab.hardware_layer import ensure_hardware_layer
from gpuaas_lab.layout import HostLayout
from gpuaas_lab.package_layer import PackageLayer

AGENT_PATH = "/opt/gpuaas/agent"
SLICE_BASE = "/slice-base"
SLICE_DIR = "/var/lib/gpuaas/slices"
_RESTART_STATUS = 133  # exit status of systemd-nspawn after a restart was requested inside


def mount_root(host: HostLayout, rootfs: Path, packages: PackageLayer | None = None) -> None:
    plain = [host.plain_folder(path) for path in (packages.plain_folders if packages else ())]
    for folder in (host.upper, host.work, host.root, host.slices, *plain):
        folder.mkdir(parents=True, exist_ok=True)
    hardware = ensure_hardware_layer(host.fleet.gpus_per_host)
    layers = [host.layer, hardware, *([packages.path] if packages else []), rootfs]
    lower = ":".join(str(layer) for layer in layers)
    options = f"lowerdir={lower},upperdir={host.upper},workdir={host.work}"
    execute(["mount", "-t", "overlay", host.namespace, "-o", options, str(host.root)])


def boot(host: HostLayout, rootfs: Path, agent_source: Path | None) -> None:
    """Start the host and return; it has no parent process. A host that restarts itself comes back."""
    cgroups.create(host.cgroup)
    start = " ".join(shlex.quote(word) for word in _nspawn(host, rootfs, agent_source))
    console = shlex.quote(str(host.console))
    # The shell joins the host's groups first, so that everything that it starts can be found there.
    script = f"set -e\n{cgroups.join_script(host.cgroup)}\n"
    script += f"setsid sh -c {shlex.quote(_power_script(host, start))} </dev/null >>{console} 2>&1 &\n"
    environment = {
        **ENVIRONMENT,
        "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": cgroups.layout().nspawn_setting,
        "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "network",
    }
    execute(["sh", "-c", script], environment=environment)


def _power_script(host: HostLayout, start: str) -> str:
    """Return the script that acts as the host's power supply: it restarts the host only after a requested restart.

    It runs in the host's groups and therefore ends with them: at a power cut, with the fleet, or in a clean-up.
    """
    return f"""
{cgroups.power_supply_script(host.cgroup)}
while :; do
  status=0
  ( {cgroups.join_script(host.cgroup).replace(chr(10), "; ")}; exec {start} ) || status=$?
  [ "$status" = {_RESTART_STATUS} ] || exit "$status"
  set -e
  {cgroups.clear_script(host.cgroup)}
  {fabric.renew_script(host)}
  set +e
done
"""


def _nspawn(host: HostLayout, rootfs: Path, agent_source: Path | None) -> list[str]:
    argv = ["nsenter", f"--net=/run/netns/{host.namespace}", "systemd-nspawn", "--quiet"]
    argv += ["--register=no", "--keep-unit", "--boot", "-D", str(host.root), "-M", host.name]
    argv += ["--capability=CAP_NET_ADMIN,CAP_IPC_LOCK"]
    argv += ["--system-call-filter=@keyring", "--system-call-filter=bpf"]
    argv += ["--resolv-conf=off", "--timezone=off", "--console=pipe"]
    argv += [f"--bind={host.slices}:{SLICE_DIR}", f"--bind-ro={rootfs}:{SLICE_BASE}"]
    argv += [f"--bind={folder}:{unquote(folder.name)}" for folder in sorted(host.plain_folders.glob("*"))]
    if agent_source is not None:
        argv.append(f"--bind-ro={agent_source}:{AGENT_PATH}")
    return argv


def enter_argv(host: HostLayout, leader: int, argv: list[str], timeout: float) -> list[str]:
    """Return a command line that runs `argv` inside the host, in its cgroups and for at most `timeout`.

    `timeout` is the parent in our process namespace. A forking nsenter would be the parent instead, and it stops itself
    for good when a host that shuts down stops its child; the host then waits 90 s for that child to be reaped.
    """
    inside = ["timeout", "--signal=KILL", f"{timeout:.3f}", *argv]
    namespaces = ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root", "--wd"]
    nsenter = ["nsenter", f"--target={leader}", *namespaces, "--no-fork", "--", *inside]
    script = f'set -e\n{cgroups.enter_script(host.cgroup, leader)}\nexec "$@"'
    return ["sh", "-c", script, "sh", *nsenter]
