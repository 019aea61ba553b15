"""Removes a cluster, or one member of it, from a host."""

from collections.abc import Sequence

from gpuaas_sdk.controller import Host
from gpuaas_slurm import layout
from gpuaas_slurm.cluster import Cluster
from gpuaas_slurm.host_setup import PMIX_LINK
from gpuaas_slurm.hostside import run_program

_RUN_FOLDERS = (layout.STAMPS,)
# The folders of the packages' accounts are removed with the accounts, if the packages were installed by this app.
_PATHS = (*layout.CONFIG_PATHS, layout.SPOOL, layout.LOGS, *layout.UNIT_PATHS, *_RUN_FOLDERS)


async def halt(host: Host, units: Sequence[str] = layout.UNITS) -> None:
    """Stops these units for good. For a worker, the processes of its jobs are ended too."""
    processes = list(layout.PROCESSES) if units == layout.UNITS else ["slurmd", "slurmstepd"]
    ended = processes if layout.WORKER_UNIT in units else []
    await run_program(host, "halt", {"units": list(units), "stamps": layout.STAMPS, "processes": ended})


async def clear_worker(host: Host) -> None:
    """Removes the worker from a host on which the controller stays."""
    await halt(host, (layout.WORKER_UNIT,))
    absent = [f"{layout.ETC}/gres.conf", f"{layout.UNIT_FILES}/{layout.WORKER_UNIT}", f"{layout.LOGS}/slurmd.log"]
    await run_program(host, "apply", {"absent": absent})
    await host.sudo(["rm", "-rf", "--", layout.SPOOL])
    await host.sudo(["systemctl", "daemon-reload"])


async def clear_host(cluster: Cluster, host: Host, keep_packages: bool) -> None:
    """Removes everything of the cluster from the host. What the host had before stays."""
    await halt(host)
    await run_program(host, "hosts_file", {"mark": layout.HOSTS_MARK, "names": None})
    request = {
        "folder": layout.FOLDER,
        "users": [one.name for one in cluster.inputs.users],
        "paths": list(_PATHS),
        "links": [PMIX_LINK["path"], *layout.MASKED_UNITS],
        "keep_packages": keep_packages,
        "package_paths": list(layout.PACKAGE_PATHS),
        "package_users": list(layout.PACKAGE_USERS),
    }
    await run_program(host, "clean", request, timeout=300.0)
