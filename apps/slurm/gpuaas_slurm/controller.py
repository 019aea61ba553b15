"""The controller: each handler brings the hosts of a cluster to the wanted state, whatever state they are in."""

from collections.abc import Sequence
from contextlib import suppress

from gpuaas_sdk.controller import (
    AppController,
    Context,
    ControllerMember,
    Failed,
    Health,
    HostUnreachable,
    InstanceSnapshot,
    main,
)
from gpuaas_slurm import attribution, head_host, host_setup, job_drain, rotation, teardown, usage, worker_host
from gpuaas_slurm.access import LoginHost, access_bundle
from gpuaas_slurm.cluster import Cluster, allocation_of, for_each_member
from gpuaas_slurm.head_requests import HeadRequests
from gpuaas_slurm.health import assess_health, fetch_status, updated_runtime
from gpuaas_slurm.hostside import run_program
from gpuaas_slurm.job_drain import JobPolicy
from gpuaas_slurm.layout import HOSTS_MARK, STATUS_PORT, node_name
from gpuaas_slurm.modes import describe_mode, mode_of, mode_of_instance, placements_of, require_mode, require_worker
from gpuaas_slurm.proof import prove
from gpuaas_slurm.usage import ReportedUsage


class Slurm(AppController):
    slug = "slurm"
    components = ("controller", "worker")

    def __init__(self) -> None:
        self._heads = HeadRequests()
        self._reported_usage = ReportedUsage()

    async def deploy(self, ctx: Context) -> None:
        """Prepares all hosts in parallel, then starts the head node, then all workers in parallel, then runs the proof."""
        cluster = Cluster.of(ctx, self._heads)
        _require_mode(cluster)
        await for_each_member(_one_per_host(ctx.members), lambda member: _prepare(cluster, member))
        key = await cluster.munge_key(make=True)
        await for_each_member(_one_per_host(ctx.members), lambda member: _configure(cluster, member, key))
        await _bring_up_head(cluster)
        await for_each_member(cluster.workers, lambda member: _join(cluster, member))
        await _prove(cluster, cluster.workers)
        await attribution.prove_accounts(cluster)
        await _describe(cluster)

    upgrade = start = deploy

    async def reconcile(self, ctx: Context) -> None:
        """Also deletes nodes that belong to no member, for example of a worker whose removal was forced."""
        cluster = Cluster.of(ctx, self._heads)
        if ctx.rotates_secrets or ctx.options.get("secrets") == "rotate":
            await rotation.rotate(cluster)
            await _describe(cluster)
            return
        await self.deploy(ctx)
        members = {node_name(one.ordinal) for one in ctx.all_members if one.component_key == "worker"}
        async with ctx.step("delete-stray-nodes"):
            for name in sorted(set(await (await cluster.scheduler()).nodes()) - members):
                await _delete_node(cluster, name)

    async def replace(self, ctx: Context) -> None:
        """Also deletes the node of a member whose host is gone."""
        await super().replace(ctx)
        if ctx.old_member is not None and ctx.old_member.host_gone:
            await self.remove(ctx.for_members(ctx.old_member))

    async def add(self, ctx: Context) -> None:
        """Adds a worker. One that failed to join, was drained or lost power is brought back the same way."""
        cluster = Cluster.of(ctx, self._heads)
        _require_mode(cluster)
        if ctx.members_of("controller"):
            await self.deploy(ctx)
            return
        async with self._heads.connections.share(cluster.id, await ctx.host(cluster.head)):
            key = await cluster.munge_key()
            for member in cluster.workers:
                await _prepare(cluster, member)
                await _configure(cluster, member, key)
                await _join(cluster, member)
            await _prove(cluster, cluster.workers)
        _report_mode(cluster)
        if len(cluster.projects) > 1:
            await _report_access(cluster)

    async def drain(self, ctx: Context) -> None:
        cluster, policy = Cluster.of(ctx, self._heads), JobPolicy.of(ctx.options, jobs="wait")
        _refuse_controller(ctx, "drained")
        for member in cluster.workers:
            await job_drain.drain_worker(cluster, member, policy)
            ctx.set_member_status(member, "drained")

    async def remove(self, ctx: Context) -> None:
        """Deletes the node from the cluster first, so that this also works for a host that cannot be reached."""
        cluster, policy = Cluster.of(ctx, self._heads), JobPolicy.of(ctx.options, jobs="requeue")
        _refuse_controller(ctx, "removed")
        mine = [
            one for one in ctx.all_members if one.concerned and (ctx.member_ids is None or one.id in ctx.member_ids)
        ]
        if not ctx.operation.parameters.get("release_of"):  # when an allocation is released, its worker goes too
            require_worker(ctx.all_members, without=mine)
        async with ctx.step("check-jobs"):
            await job_drain.check_pending_jobs(cluster, mine, policy)
        for member in mine:
            await _detach(cluster, member, policy)
            if not member.host_gone:
                await _clear(cluster, member, keep_packages=ctx.options.get("packages") == "keep")
        _report_mode(cluster, without=mine)
        if len(cluster.projects) > 1:
            await _report_access(cluster, without=mine)

    async def stop(self, ctx: Context) -> None:
        """Stops the cluster. Queued jobs stay queued; running jobs are requeued unless the request says otherwise."""
        cluster = Cluster.of(ctx, self._heads)
        if cluster.has_head:
            await _settle_jobs(cluster, JobPolicy.of(ctx.options, jobs="requeue"))
            await attribution.report_usage(cluster)
        await for_each_member(_one_per_host(_workers_first(ctx)), lambda member: _halt(cluster, member))

    async def restart(self, ctx: Context) -> None:
        """With jobs=keep, the daemons restart while jobs run. Otherwise this is a stop and a start."""
        if ctx.options.get("jobs", "keep") != "keep":
            await self.stop(ctx)
            await self.start(ctx)
            return
        cluster = Cluster.of(ctx, self._heads)
        async with ctx.step("restart", cluster.head):
            await head_host.bring_up(cluster, await ctx.host(cluster.head), restart=True)
        await for_each_member(cluster.workers, lambda member: _join(cluster, member, restart=True))
        await _prove(cluster, cluster.workers)
        await _describe(cluster)

    async def decommission(self, ctx: Context) -> None:
        cluster = Cluster.of(ctx, self._heads)
        keep = ctx.options.get("packages") == "keep"
        if ctx.members_of("controller"):
            with suppress(HostUnreachable):  # jobs then end with their hosts; the teardown below reports the host
                await _cancel_jobs(cluster)
                await attribution.report_usage(cluster)
        await for_each_member(_one_per_host(_workers_first(ctx)), lambda member: _clear_host(cluster, member, keep))

    async def health(self, snapshot: InstanceSnapshot) -> Health | None:
        controller = (snapshot.instance.runtime or {}).get("controller")
        address = controller.get("address") if isinstance(controller, dict) else None
        if address is None:
            return None
        runtime = snapshot.instance.runtime or {}
        since = usage.usage_position(runtime)
        status = await fetch_status(
            str(address), controller.get("status_key") if isinstance(controller, dict) else None, since
        )
        health = assess_health(snapshot.members, status)
        health.runtime = updated_runtime(runtime, status)
        if not isinstance(status, str) and status.ended is not None:
            self._reported_usage.add_new(snapshot.instance, health, status.ended, since)
        health.mode = mode_of_instance(snapshot.members, snapshot.instance.inputs)
        return health


def _require_mode(cluster: Cluster) -> None:
    require_mode(cluster.inputs.mode, mode_of(placements_of(cluster.ctx.all_members)))


def _report_mode(cluster: Cluster, without: Sequence[ControllerMember] = ()) -> None:
    cluster.ctx.set_mode(describe_mode(placements_of(cluster.ctx.all_members, without), cluster.inputs.mode))


async def _prepare(cluster: Cluster, member: ControllerMember) -> None:
    """Installs the packages. On a host of both components, the controller's packages include the worker's."""
    async with cluster.ctx.step("packages", member):
        await host_setup.install_packages(cluster, member)


async def _configure(cluster: Cluster, member: ControllerMember, key: str) -> None:
    async with cluster.ctx.step("configure", member):
        await host_setup.configure(cluster, member, key)


async def _bring_up_head(cluster: Cluster) -> None:
    head = cluster.head
    host = await cluster.ctx.host(head)
    if cluster.inputs.accounting:
        async with cluster.ctx.step("accounting", head):
            await head_host.bring_up_accounting(cluster, host)
    async with cluster.ctx.step("controller", head):
        await head_host.bring_up(cluster, host)
    detail = {"address": host.address, "allocation": allocation_of(head)}
    cluster.ctx.set_member_status(head, "ready", detail=detail)


async def _join(cluster: Cluster, member: ControllerMember, restart: bool = False) -> None:
    host, name = await cluster.ctx.host(member), node_name(member.ordinal)
    async with cluster.ctx.step("join", member):
        await host_setup.add_name_on_head(cluster, member)
        await worker_host.bring_up(cluster, member, restart)
        await worker_host.wait_until_joined(cluster, member)
    cluster.ctx.set_member_status(member, "ready", detail={"address": host.address, "node": name})


async def _prove(cluster: Cluster, workers: list[ControllerMember]) -> None:
    async with cluster.ctx.step("prove"):
        await prove(cluster, [node_name(one.ordinal) for one in workers])


async def _describe(cluster: Cluster) -> None:
    """Reports the runtime. It has three different versions: of the app, of the daemons, of their packages."""
    ctx, head = cluster.ctx, cluster.head
    host = await ctx.host(head)
    facts = await cluster.host_facts(head)
    _report_mode(cluster)
    ctx.set_runtime(
        app_version=ctx.version.version,
        runtime_version=facts.slurm_version,  # the daemon's own word follows with the next health check
        slurm_version=facts.slurm_version,
        package_version=facts.package_version,
        cluster=cluster.inputs.cluster_name,
        controller={"address": host.address, "status_port": STATUS_PORT, "status_key": cluster.status_key},
        partitions=[one.name for one in cluster.inputs.partitions],
        confined_by=facts.cgroup if cluster.inputs.confine else "none",
        memory_confined=(await cluster.conf()).memory_per_cpu is not None,
        accounting=cluster.inputs.accounting,
        **attribution.usage_runtime(cluster),
    )
    await _report_access(cluster)


async def _report_access(cluster: Cluster, without: Sequence[ControllerMember] = ()) -> None:
    """Reports how people log in. Each project uses one of its own allocations, so this changes with the members."""
    host = await cluster.ctx.host(cluster.head)
    user = (await host.run(["id", "-un"])).out.strip()
    login = LoginHost(allocation_of(cluster.head), host.address, user)
    projects = attribution.project_access(cluster, without)
    bundle = access_bundle(cluster.inputs, login, cluster.ctx.instance.name, projects)
    known = cluster.ctx.report.runtime or cluster.ctx.instance.runtime or {}
    cluster.ctx.set_access(**bundle, runtime_version=known.get("runtime_version"))


async def _detach(cluster: Cluster, member: ControllerMember, policy: JobPolicy) -> None:
    name = node_name(member.ordinal)
    if not member.host_gone:
        await job_drain.drain_worker(cluster, member, policy)
        # An unreachable worker is deleted from the cluster all the same; the step "clear" proves that it is gone.
        with suppress(HostUnreachable):
            async with cluster.ctx.step("halt", member):
                await teardown.halt(await cluster.ctx.host(member), ("gpuaas-slurm-worker.service",))
    async with cluster.ctx.step("delete-node", member):
        await _delete_node(cluster, name)


async def _delete_node(cluster: Cluster, name: str) -> None:
    await (await cluster.scheduler()).delete_node(name)
    await run_program(
        await cluster.ctx.host(cluster.head), "hosts_file", {"mark": HOSTS_MARK, "names": {}, "forget": [name]}
    )


async def _clear(cluster: Cluster, member: ControllerMember, keep_packages: bool) -> None:
    async with cluster.ctx.step("clear", member):
        host = await cluster.ctx.host(member)
        if cluster.shares_host(member):
            await teardown.clear_worker(host)
        else:
            await teardown.clear_host(cluster, host, keep_packages)


async def _clear_host(cluster: Cluster, member: ControllerMember, keep_packages: bool) -> None:
    async with cluster.ctx.step("clear", member):
        await teardown.clear_host(cluster, await cluster.ctx.host(member), keep_packages)


async def _halt(cluster: Cluster, member: ControllerMember) -> None:
    async with cluster.ctx.step("halt", member):
        await teardown.halt(await cluster.ctx.host(member))


async def _settle_jobs(cluster: Cluster, policy: JobPolicy) -> None:
    """Closes the partitions and settles running jobs. Without an answering controller, jobs end with their hosts."""
    scheduler = await cluster.scheduler()
    if not await scheduler.is_up():
        return
    async with cluster.ctx.step("close"):
        # Queued and requeued jobs must not start now. A start of the cluster opens the partitions again.
        await scheduler.set_partition_state([one.name for one in cluster.inputs.partitions], "DOWN")
    await for_each_member(cluster.workers, lambda member: job_drain.settle_jobs(cluster, member, policy))


async def _cancel_jobs(cluster: Cluster) -> None:
    async with cluster.ctx.step("cancel-jobs"):
        left = await (await cluster.scheduler()).cancel_all()
    if left:
        await cluster.ctx.report_progress(
            10, f"These jobs did not end by themselves and end with their hosts: {', '.join(left)}"
        )


def _refuse_controller(ctx: Context, what: str) -> None:
    if ctx.members_of("controller"):
        raise Failed(
            "controller_stays",
            f"The controller cannot be {what}: without it there is no cluster.",
            next_step="Decommission the cluster, or recover the controller.",
        )


def _one_per_host(members: list[ControllerMember]) -> list[ControllerMember]:
    """Returns one member of each host, preferably the controller: work for it covers a worker on the same host."""
    chosen: dict[str, ControllerMember] = {}
    for member in sorted(members, key=lambda one: one.component_key != "controller"):
        chosen.setdefault(allocation_of(member), member)
    return list(chosen.values())


def _workers_first(ctx: Context) -> list[ControllerMember]:
    return [*ctx.members_of("worker"), *ctx.members_of("controller")]


def run() -> None:
    main(Slurm())


if __name__ == "__main__":
    run()
