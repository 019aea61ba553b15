"""What every host of a cluster gets, whatever it does there: packages, people, the key, the configuration."""

from collections.abc import Sequence

from gpuaas_sdk.controller import ControllerMember
from gpuaas_slurm import layout
from gpuaas_slurm.cluster import Cluster, place_of
from gpuaas_slurm.heads import Named, name_all
from gpuaas_slurm.hostside import Told, ask_in_turn
from gpuaas_slurm.packages import wanted
from gpuaas_slurm.rendered import small_confs, units
from gpuaas_slurm.rendered.slurm_conf import slurm_conf

# Debian's plugin for PMIx looks for the library by a name that only the development package brings. `*` is the machine's kind.
PMIX_LINK = {"path": "/usr/lib/*/pmix2/lib/libpmix.so", "target": "libpmix.so.2", "keep": True}


async def install_packages(cluster: Cluster, member: ControllerMember) -> None:
    """The packages' own daemons are put to sleep first: a package starts what it brings."""
    host = await cluster.ctx.host(member)
    needs = wanted(member.component_key == "controller", cluster.inputs.accounting)
    facts = await cluster.packages.install(host, needs, first={"links": masks()})
    if facts is not None:
        cluster.facts[place_of(member)] = facts


def masks() -> list[dict[str, object]]:
    return [{"path": path, "target": "/dev/null", "keep": True} for path in layout.ASLEEP]


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
        _file(f"{layout.ETC}/cgroup.conf", small_confs.cgroup_conf(conf.cgroup, conf.memory_per_cpu is not None)),
        _file(f"{layout.UNIT_FILES}/{layout.MUNGE_UNIT}", units.munge_unit(cluster.ctx.environment)),
    ]
    # The folders come before the people: their homes are in one of them.
    everything = {"folders": folders, "files": files, "links": [PMIX_LINK]}
    names = await _names(cluster, member)
    await ask_in_turn(host, ("apply", everything), ("apply", {"users": users}), ("names", names))


async def _names(cluster: Cluster, member: ControllerMember) -> Told:
    """The controller's, on the other hosts."""
    if place_of(member) == place_of(cluster.head):
        return {"mark": layout.HOSTS_MARK, "names": {}}
    facts, address = await cluster.host_facts(cluster.head), (await cluster.ctx.host(cluster.head)).address
    return {"mark": layout.HOSTS_MARK, "names": {address: [facts.hostname]}}


async def name_on_head(cluster: Cluster, member: ControllerMember) -> None:
    """The worker's name, where the controller looks for it."""

    async def name(asked: Sequence[Named]) -> list[None]:
        await cluster.at_head(lambda host: name_all(host, asked))
        return [None] * len(asked)

    if place_of(member) != place_of(cluster.head):
        here = (await cluster.ctx.host(member)).address, layout.node_name(member.ordinal)
        await cluster.heads.named.ask(cluster.id, here, name)


def run_units(*wanted_units: Told) -> tuple[str, Told]:
    """What is to be asked of a host."""
    return "units", {"stamps": layout.STAMPS, "units": wanted_units}


def munge_run() -> dict[str, object]:
    return {"name": layout.MUNGE_UNIT, "files": [layout.MUNGE_KEY, f"{layout.UNIT_FILES}/{layout.MUNGE_UNIT}"]}


def _folder(path: str, owner: str, mode: int) -> dict[str, object]:
    return {"path": path, "owner": owner, "mode": mode}


def _file(path: str, text: str, owner: str = "root", mode: int = 0o644) -> dict[str, object]:
    return {"path": path, "text": text, "owner": owner, "mode": mode}
