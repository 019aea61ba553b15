"""Another key for a cluster that somebody has left who was root on one of its hosts, and so may have read the old one.

Jobs that run go on: the daemons restart under them, as at a plain restart. A repetition after a crash makes yet another key
and brings it to everybody, so that the last attempt always ends with one key everywhere.
"""

from gpuaas_sdk.controller import ControllerMember, HostUnreachable
from gpuaas_slurm import head_host, installing, worker_host
from gpuaas_slurm.cluster import Cluster, new_key, place_of, together
from gpuaas_slurm.layout import node_name
from gpuaas_slurm.proof import prove


async def rotate(cluster: Cluster) -> None:
    """A worker that does not answer keeps the old key, which opens nothing any more: recover it, and it gets the new one."""
    ctx, key = cluster.ctx, new_key()
    cluster.renew_status_key()
    silent: list[ControllerMember] = []
    async with ctx.step("write-key", cluster.head):
        await installing.configure(cluster, cluster.head, key)
    others = [one for one in cluster.workers if place_of(one) != place_of(cluster.head)]
    await together(others, lambda member: _write(cluster, member, key, silent))
    async with ctx.step("restart", cluster.head):
        await head_host.bring_up(cluster, await ctx.host(cluster.head))
    reached = [one for one in cluster.workers if one not in silent]
    await together(reached, lambda member: _restart(cluster, member))
    async with ctx.step("prove"):
        await prove(cluster, [node_name(one.ordinal) for one in reached if one.status == "ready"])
    for member in silent:
        ctx.set_member_status(
            member, "degraded", message="Its host did not answer when the keys were replaced: recover it."
        )


async def _write(cluster: Cluster, member: ControllerMember, key: str, silent: list[ControllerMember]) -> None:
    try:
        async with cluster.ctx.step("write-key", member):
            await installing.configure(cluster, member, key)
    except HostUnreachable:
        silent.append(member)


async def _restart(cluster: Cluster, member: ControllerMember) -> None:
    async with cluster.ctx.step("restart", member):
        await worker_host.bring_up(cluster, member)
        if member.status == "ready":  # one that was drained, or is broken, is not counted on before it is recovered
            await worker_host.joined(cluster, member)
