"""Attributes a cluster's jobs to projects during an operation: checks their accounts and reports usage in time."""

from collections.abc import Sequence

from gpuaas_sdk.controller import ControllerMember, HostUnreachable
from gpuaas_slurm import usage
from gpuaas_slurm.access import ProjectAccess
from gpuaas_slurm.cluster import Cluster, allocation_of
from gpuaas_slurm.hostside import run_program
from gpuaas_slurm.projects import OWNERS, owners_of
from gpuaas_slurm.usage import AccountOwners, EndedJob

ACCOUNT_SECONDS = 20.0


async def prove_accounts(cluster: Cluster) -> None:
    """Proves that a login user may run jobs under the account of each project, before people learn of the account."""
    if not cluster.inputs.accounting:
        return
    request = {"user": cluster.inputs.users[0].name, "accounts": [one.account for one in cluster.projects]}
    async with cluster.ctx.step("prove-accounts"):
        await run_program(
            await cluster.ctx.host(cluster.head), "prove_accounts", {**request, "seconds": ACCOUNT_SECONDS}
        )


async def report_usage(cluster: Cluster) -> None:
    """Reports usage before the head node stops or is cleared. A cluster that does not answer blocks nothing."""
    runtime = cluster.ctx.instance.runtime
    async with cluster.ctx.step("usage", cluster.head):
        jobs = await _read_ended_jobs(cluster, usage.usage_position(runtime))
        name, projects = cluster.inputs.cluster_name, cluster.ctx.instance.projects
        owners = AccountOwners.of(name, projects, runtime, accounting=cluster.inputs.accounting)
        await cluster.ctx.report_usage(usage.records(owners, jobs or ()))
    if jobs is None:
        await cluster.ctx.report_progress(
            15, "The cluster does not say which jobs have ended: those since the last check are not recorded"
        )


async def _read_ended_jobs(cluster: Cluster, since: int) -> list[EndedJob] | None:
    try:
        return await usage.read_ended_jobs(await cluster.ctx.host(cluster.head), since, cluster.inputs.accounting)
    except (HostUnreachable, TimeoutError):
        return None


def usage_runtime(cluster: Cluster) -> dict[str, object]:
    """Return what the health check continues from: the usage position, and the owners of current and former accounts."""
    before = cluster.ctx.instance.runtime or {}
    kept = {name: before[name] for name in (usage.FROM, "usage") if name in before}
    return {**kept, OWNERS: owners_of(cluster.projects, before)} if cluster.inputs.accounting else kept


def project_access(cluster: Cluster, without: Sequence[ControllerMember] = ()) -> list[ProjectAccess]:
    """Tells where a project logs in: on one of its own allocations if it is in the cluster, otherwise on the head node."""
    head, leaving = allocation_of(cluster.head), {one.id for one in without}
    remaining = [one for one in cluster.ctx.all_members if one.id not in leaving and not one.host_gone]
    allocations = {one.allocation.project_id: one.allocation.id for one in remaining if one.allocation}
    return [
        ProjectAccess(one.slug, one.account, head if one.home else allocations.get(one.project_id, head))
        for one in cluster.projects
    ]
