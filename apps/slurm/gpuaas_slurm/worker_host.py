"""A worker: slurmd as a dynamic node, with the GPUs of its allocation."""

import asyncio
from collections.abc import Sequence

from gpuaas_sdk.controller import ControllerMember, Failed
from gpuaas_slurm import layout
from gpuaas_slurm.cluster import Cluster
from gpuaas_slurm.facts import Facts
from gpuaas_slurm.head_requests import JoinCheck, check_joined
from gpuaas_slurm.host_setup import munge_unit_spec, units_request
from gpuaas_slurm.hostside import run_programs
from gpuaas_slurm.templates import small_confs, units

GRES_CONF = f"{layout.ETC}/gres.conf"
UNIT_FILE = f"{layout.UNIT_FILES}/{layout.WORKER_UNIT}"
JOIN_SECONDS = 30.0
LOOK_SECONDS = 1.0  # so a node that does not join delays the others of its batch only briefly


async def bring_up(cluster: Cluster, member: ControllerMember, restart: bool = False) -> None:
    host = await cluster.ctx.host(member)
    devices, model = gpus_of(member, await cluster.host_facts(member))
    unit = units.worker_unit(
        cluster.ctx.environment, layout.node_name(member.ordinal), host.address, small_confs.gres(model, devices)
    )
    files = [
        {"path": GRES_CONF, "text": small_confs.gres_conf(model, devices), "owner": "root", "mode": 0o644},
        {"path": UNIT_FILE, "text": unit, "owner": "root", "mode": 0o644},
    ]
    inputs = [f"{layout.ETC}/slurm.conf", f"{layout.ETC}/cgroup.conf", GRES_CONF, layout.MUNGE_KEY, UNIT_FILE]
    worker = {"name": layout.WORKER_UNIT, "files": inputs, "listens": layout.WORKER_PORT, "restart": restart}
    spool = {"path": layout.SPOOL, "owner": "root", "mode": 0o755}
    await run_programs(
        host,
        ("apply", {"folders": [spool], "files": files}),
        units_request(munge_unit_spec(), worker),
    )


def gpus_of(member: ControllerMember, facts: Facts) -> tuple[Sequence[str], str]:
    """Returns the GPUs of the allocation. A host may show more GPUs than belong to the tenant."""
    if member.allocation is None or not member.allocation.gpu_count:
        return (), ""
    count, found = member.allocation.gpu_count, facts.gpu_devices
    if found and len(found) < count:
        message = f"{facts.hostname} shows {len(found)} of the {count} GPUs of {member.allocation.id}."
        raise Failed("gpus_missing", message, next_step="Check the node's GPUs, or replace the worker.")
    return found[:count], member.allocation.gpu_model


async def wait_until_joined(cluster: Cluster, member: ControllerMember) -> None:
    """Waits until the node is usable in the cluster. The head node checks all nodes that join at the same time."""

    async def check(nodes: Sequence[str]) -> list[JoinCheck]:
        return await cluster.run_on_head(lambda host: check_joined(host, nodes, LOOK_SECONDS))

    name, clock = layout.node_name(member.ordinal), asyncio.get_running_loop().time
    deadline = clock() + JOIN_SECONDS
    while True:
        joined, seen = await cluster.heads.joined.submit(cluster.id, name, check)
        if joined:
            return
        if clock() > deadline:
            raise Failed(
                "not_joined",
                f"{name} did not join: {seen}.",
                next_step="Recover or replace the worker.",
                retryable=True,
            )
