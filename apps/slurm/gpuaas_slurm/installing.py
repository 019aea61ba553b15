"""What every host of a cluster gets, whatever it does there: packages, people, the key, the configuration."""

from gpuaas_sdk.controller import ControllerMember, Host
from gpuaas_slurm import layout
from gpuaas_slurm.cluster import Cluster
from gpuaas_slurm.hostside import Told, ask, ask_in_turn
from gpuaas_slurm.packages import wanted
from gpuaas_slurm.rendered import small_confs, units
from gpuaas_slurm.rendered.slurm_conf import slurm_conf

# Debian's plugin for PMIx looks for the library by a name that only the development package brings.
PMIX_LINK = {"path": "/usr/lib/x86_64-linux-gnu/pmix2/lib/libpmix.so", "target": "libpmix.so.2", "keep": True}


async def install_packages(cluster: Cluster, member: ControllerMember) -> None:
    """The packages' own daemons are put to sleep first: a package starts what it brings."""
    host = await cluster.ctx.host(member)
    needs = wanted(member.component_key == "controller", cluster.inputs.accounting)
    await cluster.packages.install(host, needs, first={"links": masks()})


def masks() -> list[dict[str, object]]:
    sleeping = (*layout.PACKAGED_UNITS, "munge.service")
    return [{"path": f"{layout.UNIT_FILES}/{name}", "target": "/dev/null", "keep": True} for name in sleeping]


async def configure(cluster: Cluster, member: ControllerMember, key: str) -> None:
    """Files that are the same in every role. Who runs on it is started afresh where something changed."""
    host, conf = await cluster.ctx.host(member), await cluster.conf()
    users = [{"name": one.name, "uid": one.uid, "home": f"{layout.HOMES}/{one.name}"} for one in cluster.inputs.users]
    folders = [
        _folder(layout.FOLDER, "root", 0o755),
        _folder(layout.HOMES, "root", 0o755),
        _folder(layout.ETC, "root", 0o755),
        _folder(layout.MUNGE, "munge", 0o700),
        _folder(layout.LOGS, "slurm", 0o755),
    ]
    files = [
        {"path": layout.MUNGE_KEY, "base64": key, "owner": "munge", "mode": 0o400},
        _file(f"{layout.ETC}/slurm.conf", slurm_conf(conf)),
        _file(f"{layout.ETC}/cgroup.conf", small_confs.cgroup_conf(conf.cgroup)),
        _file(f"{layout.UNIT_FILES}/{layout.MUNGE_UNIT}", units.munge_unit(cluster.ctx.environment)),
    ]
    # The folders come before the people: their homes are in one of them.
    everything = {"folders": folders, "files": files, "links": [PMIX_LINK]}
    await ask_in_turn(host, ("apply", everything), ("apply", {"users": users}))


async def know_each_other(cluster: Cluster, host: Host, names: dict[str, list[str]]) -> None:
    await ask(host, "names", {"mark": layout.HOSTS_MARK, "names": names})


def run_units(wanted_units: list[dict[str, object]], afresh: bool = False) -> tuple[str, Told]:
    """What is to be asked of a host."""
    return "units", {"stamps": layout.STAMPS, "units": wanted_units, "afresh": afresh}


def munge_run() -> dict[str, object]:
    return {"name": layout.MUNGE_UNIT, "files": [layout.MUNGE_KEY, f"{layout.UNIT_FILES}/{layout.MUNGE_UNIT}"]}


def _folder(path: str, owner: str, mode: int) -> dict[str, object]:
    return {"path": path, "owner": owner, "mode": mode}


def _file(path: str, text: str, owner: str = "root", mode: int = 0o644) -> dict[str, object]:
    return {"path": path, "text": text, "owner": owner, "mode": mode}
