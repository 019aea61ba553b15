"""Drains workers: running jobs are awaited, requeued or cancelled as requested, and no job is stranded silently."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuaas_sdk.controller import ControllerMember, Failed
from gpuaas_slurm import layout
from gpuaas_slurm.cluster import Cluster
from gpuaas_slurm.scheduler import Job, Node, Scheduler

LOOK_SECONDS = 5.0  # how long one step waits; a cancellation takes effect between two steps
QUIET_SECONDS = 60.0  # requeued or cancelled jobs have ended by then


@dataclass(frozen=True, slots=True)
class JobPolicy:
    """Says what happens to running jobs: `wait` for them, `requeue` or `cancel` them now, or requeue them at a `deadline`."""

    jobs: str
    seconds: int
    pending: str = "refuse"  # what happens to pending jobs that could run nowhere else: refuse or cancel

    @classmethod
    def of(cls, options: Mapping[str, object], jobs: str) -> "JobPolicy":
        seconds = options.get("grace_seconds", 300)
        return cls(
            jobs=str(options.get("jobs", jobs)),
            seconds=seconds if isinstance(seconds, int) else 300,
            pending=str(options.get("pending", "refuse")),
        )


async def drain_worker(cluster: Cluster, member: ControllerMember, policy: JobPolicy) -> None:
    """Drains the node and settles its jobs. Returns when no job runs on it any more."""
    scheduler, name = await cluster.scheduler(), layout.node_name(member.ordinal)
    if name not in await scheduler.nodes():
        return
    async with cluster.ctx.step("drain", member):
        await scheduler.drain(name, reason=cluster.ctx.operation.id)
    await settle_jobs(cluster, member, policy)


async def settle_jobs(cluster: Cluster, member: ControllerMember, policy: JobPolicy) -> None:
    """Ends the jobs of a worker that gets no new jobs, as the policy says."""
    scheduler = await cluster.scheduler()
    if policy.jobs in ("wait", "deadline"):
        limit = None if policy.jobs == "wait" else float(policy.seconds)
        if await _wait_for_jobs(cluster, member, scheduler, limit):
            return
    async with cluster.ctx.step("move-jobs", member):
        await _move_jobs(scheduler, layout.node_name(member.ordinal), cancel=policy.jobs == "cancel")


async def _wait_for_jobs(cluster: Cluster, member: ControllerMember, scheduler: Scheduler, limit: float | None) -> bool:
    """Waits in short steps, so that a cancellation or a shutdown takes effect between them."""
    name, loop, reported = layout.node_name(member.ordinal), asyncio.get_running_loop(), ""
    began = loop.time()
    while limit is None or loop.time() - began < limit:
        async with cluster.ctx.step("wait-for-jobs", member):
            left = LOOK_SECONDS if limit is None else min(LOOK_SECONDS, limit - (loop.time() - began))
            runs = await scheduler.wait_until_idle(name, max(left, 0.1))
        if not runs:
            return True
        if runs != reported:  # report only changes
            await cluster.ctx.report_progress(10, f"{name} is not idle yet: {runs}")
            reported = runs
    return False


async def _move_jobs(scheduler: Scheduler, name: str, cancel: bool) -> None:
    deadline = asyncio.get_running_loop().time() + QUIET_SECONDS
    while True:
        jobs = await scheduler.jobs("RUNNING,SUSPENDED,CONFIGURING,STOPPED", name)
        await (scheduler.cancel(jobs) if cancel else scheduler.requeue(jobs))
        runs = await scheduler.wait_until_idle(name, 1.0)
        if not runs:
            return
        if asyncio.get_running_loop().time() > deadline:
            raise Failed(
                "jobs_stay", f"Jobs on {name} do not end: {runs}.", next_step="Check these jobs, then try again."
            )


async def check_pending_jobs(cluster: Cluster, leaving: list[ControllerMember], policy: JobPolicy) -> None:
    """Fails with the pending jobs that could run on no other node, or cancels them if the request says so."""
    scheduler = await cluster.scheduler()
    names, nodes = {layout.node_name(one.ordinal) for one in leaving}, await scheduler.nodes()
    stranded = stranded_by(await scheduler.jobs("PENDING"), list(nodes.values()), names)
    if not stranded:
        return
    numbers = ", ".join(job.number for job in stranded)
    if cluster.ctx.operation.parameters.get("release_of"):  # the allocation is released in any case
        await cluster.ctx.report_progress(10, f"These jobs wait for a worker that no longer exists: {numbers}")
        return
    if policy.pending != "cancel":
        raise Failed(
            "jobs_would_strand",
            f"These pending jobs could run nowhere else: {numbers}.",
            next_step="Let them run or cancel them first, or try again with pending=cancel.",
        )
    await scheduler.cancel(stranded)
    await cluster.ctx.report_progress(10, f"Cancelled these jobs, which could run nowhere else: {numbers}")


def stranded_by(pending: Sequence[Job], nodes: Sequence[Node], leaving: set[str]) -> list[Job]:
    """Returns pending jobs that can run now and could not without the leaving nodes: because of node names, their number,
    or GPUs per node. Without remaining nodes, all of them. Pure.
    """
    remaining = [one for one in nodes if one.name not in leaving]
    if not remaining:
        return list(pending)
    return [job for job in pending if job.only_on & leaving or (_fits(job, nodes) and not _fits(job, remaining))]


def _fits(job: Job, nodes: Sequence[Node]) -> bool:
    return sum(one.gpus >= job.gpus for one in nodes) >= job.nodes
