"""Taking a cluster, or one member of it, off a host."""

from collections.abc import Sequence

from gpuaas_sdk.controller import Host
from gpuaas_slurm import layout
from gpuaas_slurm.cluster import Cluster
from gpuaas_slurm.hostside import ask
from gpuaas_slurm.installing import PMIX_LINK

_RUN_FOLDERS = (layout.STAMPS,)
# The account's own folders go with the account, where the package came with us.
_KEPT_WITH_PACKAGES = (*layout.CONFIG_PATHS, layout.SPOOL, layout.LOGS, *layout.UNIT_PATHS, *_RUN_FOLDERS)


async def halt(host: Host, units: Sequence[str] = layout.UNITS) -> None:
    """Nothing of these units runs, and nothing starts them. Of a worker the jobs' own processes are looked for, too."""
    ends = list(layout.PROCESSES) if units == layout.UNITS else ["slurmd", "slurmstepd"]
    named = ends if layout.WORKER_UNIT in units else []
    await ask(host, "halt", {"units": list(units), "stamps": layout.STAMPS, "processes": named})


async def clear_worker(host: Host) -> None:
    """The worker's part of a host on which the controller stays."""
    await halt(host, (layout.WORKER_UNIT,))
    absent = [f"{layout.ETC}/gres.conf", f"{layout.UNIT_FILES}/{layout.WORKER_UNIT}", f"{layout.LOGS}/slurmd.log"]
    await ask(host, "apply", {"absent": absent})
    await host.sudo(["rm", "-rf", "--", layout.SPOOL])
    await host.sudo(["systemctl", "daemon-reload"])


async def clear_host(cluster: Cluster, host: Host, keep_packages: bool) -> None:
    """Everything, whoever was on it; only what the host had before stays."""
    await halt(host)
    await ask(host, "names", {"mark": layout.HOSTS_MARK, "names": None})
    told = {
        "folder": layout.FOLDER,
        "users": [one.name for one in cluster.inputs.users],
        "paths": list(_KEPT_WITH_PACKAGES),
        "links": [PMIX_LINK["path"], *layout.ASLEEP],
        "keep_packages": keep_packages,
        "package_paths": list(layout.PACKAGE_PATHS),
        "package_users": list(layout.PACKAGE_USERS),
    }
    await ask(host, "clean", told, timeout=300.0)
