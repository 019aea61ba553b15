"""Replaces the keys of a cluster after a member left: somebody with root on its host may have read the old ones.

Running jobs continue while the daemons restart, as in a plain restart. An attempt after a crash makes another key and
distributes it, so that all hosts have the same key in the end.
"""

from gpuaas_sdk.controller import ControllerMember, HostUnreachable
from gpuaas_slurm import head_host, host_setup, worker_host
from gpuaas_slurm.cluster import Cluster, allocation_of, for_each_member, new_key
from gpuaas_slurm.layout import node_name
from gpuaas_slurm.proof import prove


async def rotate(cluster: Cluster) -> None:
    """Replaces the key. A worker that does not answer keeps the old one, no longer accepted, until it is recovered."""
    ctx, key = cluster.ctx, new_key()
    cluster.renew_status_key()
    unreachable: list[ControllerMember] = []
    async with ctx.step("write-key", cluster.head):
        await host_setup.configure(cluster, cluster.head, key)
    others = [one for one in cluster.workers if allocation_of(one) != allocation_of(cluster.head)]
    await for_each_member(others, lambda member: _write_key(cluster, member, key, unreachable))
    async with ctx.step("restart", cluster.head):
        await head_host.bring_up(cluster, await ctx.host(cluster.head))
    reached = [one for one in cluster.workers if one not in unreachable]
    await for_each_member(reached, lambda member: _restart(cluster, member))
    async with ctx.step("prove"):
        await prove(cluster, [node_name(one.ordinal) for one in reached if one.status == "ready"])
    for member in unreachable:
        ctx.set_member_status(
            member, "degraded", message="The host did not answer when the keys were replaced: recover the member."
        )


async def _write_key(cluster: Cluster, member: ControllerMember, key: str, unreachable: list[ControllerMember]) -> None:
    try:
        async with cluster.ctx.step("write-key", member):
            await host_setup.configure(cluster, member, key)
    except HostUnreachable:
        unreachable.append(member)


async def _restart(cluster: Cluster, member: ControllerMember) -> None:
    async with cluster.ctx.step("restart", member):
        await worker_host.bring_up(cluster, member)
        if member.status == "ready":  # a drained or failed worker rejoins when it is recovered
            await worker_host.wait_until_joined(cluster, member)
