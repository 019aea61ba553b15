"""Sets up every host of a cluster: packages, login users, the munge key, the configuration."""

from collections.abc import Sequence

from gpuaas_sdk.controller import ControllerMember
from gpuaas_slurm import layout
from gpuaas_slurm.cluster import Cluster, allocation_of
from gpuaas_slurm.head_requests import HostEntry, add_host_entries
from gpuaas_slurm.hostside import ProgramInput, run_programs
from gpuaas_slurm.packages import required_packages
from gpuaas_slurm.templates import small_confs, units
from gpuaas_slurm.templates.slurm_conf import slurm_conf

# Debian's PMIx plugin loads the library by a name that only the development package has. `*` is the architecture.
PMIX_LINK = {"path": "/usr/lib/*/pmix2/lib/libpmix.so", "target": "libpmix.so.2", "keep": True}


async def install_packages(cluster: Cluster, member: ControllerMember) -> None:
    """Masks the packages' own units first, because a package starts its daemons when it is installed."""
    host = await cluster.ctx.host(member)
    needs = required_packages(member.component_key == "controller", cluster.inputs.accounting)
    facts = await cluster.packages.install(host, needs, first={"links": masks()})
    if facts is not None:
        cluster.facts[allocation_of(member)] = facts


def masks() -> list[dict[str, object]]:
    return [{"path": path, "target": "/dev/null", "keep": True} for path in layout.MASKED_UNITS]


async def configure(cluster: Cluster, member: ControllerMember, key: str) -> None:
    """Writes the files that are the same for all roles. Daemons are restarted later if a file has changed."""
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
    # The folders come first: the homes of the users are in one of them.
    everything = {"folders": folders, "files": files, "links": [PMIX_LINK]}
    names = await _host_names(cluster, member)
    await run_programs(host, ("apply", everything), ("apply", {"users": users}), ("hosts_file", names))


async def _host_names(cluster: Cluster, member: ControllerMember) -> ProgramInput:
    """Returns the entry for the head node in the hosts file of the other hosts."""
    if allocation_of(member) == allocation_of(cluster.head):
        return {"mark": layout.HOSTS_MARK, "names": {}}
    facts, address = await cluster.host_facts(cluster.head), (await cluster.ctx.host(cluster.head)).address
    return {"mark": layout.HOSTS_MARK, "names": {address: [facts.hostname]}}


async def add_name_on_head(cluster: Cluster, member: ControllerMember) -> None:
    """Adds the worker's name to the hosts file of the head node."""

    async def add(entries: Sequence[HostEntry]) -> list[None]:
        await cluster.run_on_head(lambda host: add_host_entries(host, entries))
        return [None] * len(entries)

    if allocation_of(member) != allocation_of(cluster.head):
        entry = (await cluster.ctx.host(member)).address, layout.node_name(member.ordinal)
        await cluster.heads.host_entries.submit(cluster.id, entry, add)


def units_request(*unit_specs: ProgramInput) -> tuple[str, ProgramInput]:
    """Returns a call of the program `units` that runs these units."""
    return "units", {"stamps": layout.STAMPS, "units": unit_specs}


def munge_unit_spec() -> dict[str, object]:
    return {"name": layout.MUNGE_UNIT, "files": [layout.MUNGE_KEY, f"{layout.UNIT_FILES}/{layout.MUNGE_UNIT}"]}


def _folder(path: str, owner: str, mode: int) -> dict[str, object]:
    return {"path": path, "owner": owner, "mode": mode}


def _file(path: str, text: str, owner: str = "root", mode: int = 0o644) -> dict[str, object]:
    return {"path": path, "text": text, "owner": owner, "mode": mode}
