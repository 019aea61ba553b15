"""A worker on its host: slurmd as a dynamic node, with the GPUs of its allocation."""

import asyncio
from collections.abc import Sequence

from gpuaas_sdk.controller import ControllerMember, Failed
from gpuaas_slurm import layout
from gpuaas_slurm.cluster import Cluster
from gpuaas_slurm.facts import Facts
from gpuaas_slurm.heads import Seen, look_for
from gpuaas_slurm.hostside import ask_in_turn
from gpuaas_slurm.installing import munge_run, run_units
from gpuaas_slurm.rendered import small_confs, units

GRES_CONF = f"{layout.ETC}/gres.conf"
UNIT_FILE = f"{layout.UNIT_FILES}/{layout.WORKER_UNIT}"
JOIN_SECONDS = 30.0
LOOK_SECONDS = 1.0  # a node that does not come keeps those that come with it no longer


async def bring_up(cluster: Cluster, member: ControllerMember, afresh: bool = False) -> None:
    host = await cluster.ctx.host(member)
    devices, model = gpus_of(member, await cluster.host_facts(member))
    unit = units.worker_unit(
        cluster.ctx.environment, layout.node_name(member.ordinal), host.address, small_confs.gres(model, devices)
    )
    written = [
        {"path": GRES_CONF, "text": small_confs.gres_conf(model, devices), "owner": "root", "mode": 0o644},
        {"path": UNIT_FILE, "text": unit, "owner": "root", "mode": 0o644},
    ]
    needed = [f"{layout.ETC}/slurm.conf", f"{layout.ETC}/cgroup.conf", GRES_CONF, layout.MUNGE_KEY, UNIT_FILE]
    worker = {"name": layout.WORKER_UNIT, "files": needed, "listens": layout.WORKER_PORT, "afresh": afresh}
    spool = {"path": layout.SPOOL, "owner": "root", "mode": 0o755}
    await ask_in_turn(
        host,
        ("apply", {"folders": [spool], "files": written}),
        run_units(munge_run(), worker),
    )


def gpus_of(member: ControllerMember, facts: Facts) -> tuple[Sequence[str], str]:
    """The allocation's, as many as it was given: a host may show more of them than are the tenant's."""
    if member.allocation is None or not member.allocation.gpu_count:
        return (), ""
    count, found = member.allocation.gpu_count, facts.gpu_devices
    if found and len(found) < count:
        message = f"{facts.hostname} shows {len(found)} of the {count} GPUs of {member.allocation.id}."
        raise Failed("gpus_missing", message, next_step="Look at the node's GPUs, or replace the worker.")
    return found[:count], member.allocation.gpu_model


async def joined(cluster: Cluster, member: ControllerMember) -> None:
    """Until the cluster itself counts on it. The controller's host waits, a moment at a time, for all who join now."""

    async def look(nodes: Sequence[str]) -> list[Seen]:
        return await cluster.at_head(lambda host: look_for(host, nodes, LOOK_SECONDS))

    name, clock = layout.node_name(member.ordinal), asyncio.get_running_loop().time
    deadline = clock() + JOIN_SECONDS
    while True:
        there, seen = await cluster.heads.joined.ask(cluster.id, name, look)
        if there:
            return
        if clock() > deadline:
            raise Failed(
                "not_joined",
                f"{name} did not join: {seen}.",
                next_step="Recover or replace the worker.",
                retryable=True,
            )
