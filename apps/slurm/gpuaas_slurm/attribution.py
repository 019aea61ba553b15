"""Whom a cluster works for, within an operation: the accounts of its projects, proven, and what was used, told in time."""

from collections.abc import Sequence

from gpuaas_sdk.controller import ControllerMember, HostUnreachable
from gpuaas_slurm import usage
from gpuaas_slurm.access import ProjectDoor
from gpuaas_slurm.cluster import Cluster, place_of
from gpuaas_slurm.hostside import ask
from gpuaas_slurm.projects import OWNERS, owners_of
from gpuaas_slurm.usage import Books, EndedJob

ACCOUNT_SECONDS = 20.0


async def prove_accounts(cluster: Cluster) -> None:
    """Whoever may log in may run for each project: proven before anybody is told the account."""
    if not cluster.inputs.accounting:
        return
    told = {"user": cluster.inputs.users[0].name, "accounts": [one.account for one in cluster.projects]}
    async with cluster.ctx.step("prove-accounts"):
        await ask(await cluster.ctx.host(cluster.head), "prove_accounts", {**told, "seconds": ACCOUNT_SECONDS})


async def tell_usage(cluster: Cluster) -> None:
    """The last look before the accounting stops, or is gone. One that does not answer keeps nobody from leaving."""
    if not cluster.inputs.accounting:
        return
    runtime = cluster.ctx.instance.runtime
    async with cluster.ctx.step("usage", cluster.head):
        jobs = await _ended(cluster, usage.since(runtime))
        books = Books.of(cluster.inputs.cluster_name, cluster.ctx.instance.projects, runtime)
        await cluster.ctx.report_usage(usage.records(books, jobs or ()))
    if jobs is None:
        await cluster.ctx.report_progress(
            15, "The accounting does not answer: what ended since the last look is not recorded"
        )


async def _ended(cluster: Cluster, since: int) -> list[EndedJob] | None:
    try:
        return await usage.told_at_the_end(await cluster.ctx.host(cluster.head), since)
    except (HostUnreachable, TimeoutError):
        return None


def known_so_far(cluster: Cluster) -> dict[str, object]:
    """What the health check goes on from: how far usage was told, and whose the accounts are and were."""
    if not cluster.inputs.accounting:
        return {}
    before = cluster.ctx.instance.runtime or {}
    kept = {name: before[name] for name in (usage.FROM, "usage") if name in before}
    return {**kept, OWNERS: owners_of(cluster.projects, before)}


def doors(cluster: Cluster, without: Sequence[ControllerMember] = ()) -> list[ProjectDoor]:
    """Each project's people come in by a machine of their own, where the cluster has one; else by the controller's."""
    head, leaving = place_of(cluster.head), {one.id for one in without}
    staying = [one for one in cluster.ctx.all_members if one.id not in leaving and not one.host_gone]
    machines = {one.allocation.project_id: one.allocation.id for one in staying if one.allocation}
    return [
        ProjectDoor(one.slug, one.account, head if one.home else machines.get(one.project_id, head))
        for one in cluster.projects
    ]
