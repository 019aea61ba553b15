"""How work leaves: a node is drained, its jobs wait, move or end as the request says, and nobody's job is stranded silently."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuaas_sdk.controller import ControllerMember, Failed
from gpuaas_slurm import layout
from gpuaas_slurm.cluster import Cluster
from gpuaas_slurm.scheduler import Job, Node, Scheduler

LOOK_SECONDS = 5.0  # how long one step waits: between two of them a request to stop is heard
QUIET_SECONDS = 60.0  # what was requeued or cancelled is gone by then


@dataclass(frozen=True, slots=True)
class Patience:
    """What becomes of running jobs: `wait` for them, `requeue` or `cancel` them now, or requeue them at a `deadline`."""

    jobs: str
    seconds: int
    pending: str = "refuse"  # what becomes of jobs that could run nowhere else: refuse or cancel

    @classmethod
    def of(cls, options: Mapping[str, object], jobs: str) -> "Patience":
        seconds = options.get("patience_seconds", 300)
        return cls(
            jobs=str(options.get("jobs", jobs)),
            seconds=seconds if isinstance(seconds, int) else 300,
            pending=str(options.get("pending", "refuse")),
        )


async def drain(cluster: Cluster, member: ControllerMember, patience: Patience) -> None:
    """Nothing new comes; what runs ends as it was said. Returns when nothing runs any more."""
    scheduler, name = await cluster.scheduler(), layout.node_name(member.ordinal)
    if name not in await scheduler.nodes():
        return
    async with cluster.ctx.step("drain", member):
        await scheduler.drain(name, reason=cluster.ctx.operation.id)
    await settle(cluster, member, patience)


async def settle(cluster: Cluster, member: ControllerMember, patience: Patience) -> None:
    """What runs on a worker, to which nothing new comes any more, ends as it was said."""
    scheduler = await cluster.scheduler()
    if patience.jobs in ("wait", "deadline"):
        limit = None if patience.jobs == "wait" else float(patience.seconds)
        if await _waited(cluster, member, scheduler, limit):
            return
    async with cluster.ctx.step("move-jobs", member):
        await _moved(scheduler, layout.node_name(member.ordinal), cancel=patience.jobs == "cancel")


async def _waited(cluster: Cluster, member: ControllerMember, scheduler: Scheduler, limit: float | None) -> bool:
    """In short steps: whoever wants it cancelled, or this replica ended, is heard between them."""
    name, loop, told = layout.node_name(member.ordinal), asyncio.get_running_loop(), ""
    began = loop.time()
    while limit is None or loop.time() - began < limit:
        async with cluster.ctx.step("wait-for-jobs", member):
            left = LOOK_SECONDS if limit is None else min(LOOK_SECONDS, limit - (loop.time() - began))
            runs = await scheduler.left_on(name, max(left, 0.1))
        if not runs:
            return True
        if runs != told:  # the same again is nobody's news
            await cluster.ctx.report_progress(10, f"{name} is not free yet: {runs}")
            told = runs
    return False


async def _moved(scheduler: Scheduler, name: str, cancel: bool) -> None:
    deadline = asyncio.get_running_loop().time() + QUIET_SECONDS
    while True:
        jobs = await scheduler.jobs("RUNNING,SUSPENDED,CONFIGURING,STOPPED", name)
        await (scheduler.cancel(jobs) if cancel else scheduler.requeue(jobs))
        runs = await scheduler.left_on(name, 1.0)
        if not runs:
            return
        if asyncio.get_running_loop().time() > deadline:
            raise Failed("jobs_stay", f"Jobs on {name} do not end: {runs}.", next_step="Look at them, then ask again.")


async def spare_pending(cluster: Cluster, leaving: list[ControllerMember], patience: Patience) -> None:
    """Jobs that wait for these nodes and could run nowhere else are named, or ended because the request says so."""
    scheduler = await cluster.scheduler()
    names, nodes = {layout.node_name(one.ordinal) for one in leaving}, await scheduler.nodes()
    stranded = stranded_by(await scheduler.jobs("PENDING"), list(nodes.values()), names)
    if not stranded:
        return
    numbers = ", ".join(job.number for job in stranded)
    if cluster.ctx.operation.parameters.get("release_of"):  # the machine goes whatever we say
        await cluster.ctx.report_progress(10, f"Wait for a worker that is not there any more: {numbers}")
        return
    if patience.pending != "cancel":
        raise Failed(
            "jobs_would_strand",
            f"Jobs wait that could run nowhere else: {numbers}.",
            next_step="Let them run or cancel them first, or ask again with pending=cancel.",
        )
    await scheduler.cancel(stranded)
    await cluster.ctx.report_progress(10, f"Cancelled, since they could run nowhere else: {numbers}")


def stranded_by(pending: Sequence[Job], nodes: Sequence[Node], leaving: set[str]) -> list[Job]:
    """Pure. Those that could run today and then no more: by name, by the number of nodes, or by the GPUs that each needs.
    When nobody stays, all of them.
    """
    staying = [one for one in nodes if one.name not in leaving]
    if not staying:
        return list(pending)
    return [job for job in pending if job.only_on & leaving or (_fits(job, nodes) and not _fits(job, staying))]


def _fits(job: Job, nodes: Sequence[Node]) -> bool:
    return sum(one.gpus >= job.gpus for one in nodes) >= job.nodes
