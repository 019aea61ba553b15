"""What can be asked of a Slurm cluster. Each handler makes the hosts what they should be, from wherever they are."""

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
from gpuaas_slurm import attribution, clearing, head_host, installing, leaving, rotation, usage, worker_host
from gpuaas_slurm.access import Door, access_bundle
from gpuaas_slurm.cluster import Cluster, place_of, together
from gpuaas_slurm.heads import Heads
from gpuaas_slurm.health import counted, judge, status_at
from gpuaas_slurm.hostside import ask
from gpuaas_slurm.layout import HOSTS_MARK, STATUS_PORT, node_name
from gpuaas_slurm.leaving import Patience
from gpuaas_slurm.modes import at_rest, at_work, described, mode_of, require_mode, require_worker
from gpuaas_slurm.proof import prove
from gpuaas_slurm.usage import Told


class Slurm(AppController):
    slug = "slurm"
    components = ("controller", "worker")

    def __init__(self) -> None:
        self._heads = Heads()
        self._told = Told()

    async def bootstrap(self, ctx: Context) -> None:
        """All hosts at once are prepared; then the controller, then all workers at once, then the proof."""
        cluster = Cluster.of(ctx, self._heads)
        _require_mode(cluster)
        await together(_one_a_host(ctx.members), lambda member: _prepare(cluster, member))
        key = await cluster.munge_key(make=True)
        await together(_one_a_host(ctx.members), lambda member: _configure(cluster, member, key))
        await _bring_up_head(cluster)
        await together(cluster.workers, lambda member: _join(cluster, member))
        await _prove(cluster, cluster.workers)
        await attribution.prove_accounts(cluster)
        await _describe(cluster)

    upgrade = start = bootstrap

    async def reconcile(self, ctx: Context) -> None:
        """Also of nodes that the cluster still knows and that are nobody's: of a worker that was forced out of it."""
        cluster = Cluster.of(ctx, self._heads)
        if ctx.rotates_secrets or ctx.options.get("secrets") == "rotate":
            await rotation.rotate(cluster)
            await _describe(cluster)
            return
        await self.bootstrap(ctx)
        members = {node_name(one.ordinal) for one in ctx.all_members if one.component_key == "worker"}
        async with ctx.step("forget-strays"):
            for name in sorted(set(await (await cluster.scheduler()).nodes()) - members):
                await _forget(cluster, name)

    async def replace(self, ctx: Context) -> None:
        """Of one whose machine is gone, too, the cluster must forget the node."""
        await super().replace(ctx)
        if ctx.old_member is not None and ctx.old_member.host_gone:
            await self.remove(ctx.for_members(ctx.old_member))

    async def add(self, ctx: Context) -> None:
        """A worker that failed to join, was drained, or lost its power comes back the same way."""
        cluster = Cluster.of(ctx, self._heads)
        _require_mode(cluster)
        if ctx.members_of("controller"):
            await self.bootstrap(ctx)
            return
        async with self._heads.ways.lent(cluster.id, await ctx.host(cluster.head)):
            key = await cluster.munge_key()
            for member in cluster.workers:
                await _prepare(cluster, member)
                await _configure(cluster, member, key)
                await _join(cluster, member)
            await _prove(cluster, cluster.workers)
        _say_mode(cluster)
        if len(cluster.projects) > 1:
            await _tell_doors(cluster)

    async def drain(self, ctx: Context) -> None:
        cluster, patience = Cluster.of(ctx, self._heads), Patience.of(ctx.options, jobs="wait")
        _refuse_controller(ctx, "drained")
        for member in cluster.workers:
            await leaving.drain(cluster, member, patience)
            ctx.set_member_status(member, "drained")

    async def remove(self, ctx: Context) -> None:
        """The cluster lets go first, so that a host that cannot be reached any more is at least forgotten."""
        cluster, patience = Cluster.of(ctx, self._heads), Patience.of(ctx.options, jobs="requeue")
        _refuse_controller(ctx, "removed")
        mine = [
            one for one in ctx.all_members if one.concerned and (ctx.member_ids is None or one.id in ctx.member_ids)
        ]
        if not ctx.operation.parameters.get("release_of"):  # a machine that is going takes its worker with it
            require_worker(ctx.all_members, without=mine)
        async with ctx.step("look-for-jobs"):
            await leaving.spare_pending(cluster, mine, patience)
        for member in mine:
            await _let_go(cluster, member, patience)
            if not member.host_gone:
                await _clear(cluster, member, keep_packages=ctx.options.get("packages") == "keep")
        _say_mode(cluster, without=mine)
        if len(cluster.projects) > 1:
            await _tell_doors(cluster, without=mine)

    async def stop(self, ctx: Context) -> None:
        """Queued jobs stay queued, and what ran is queued again, unless the request says otherwise."""
        cluster = Cluster.of(ctx, self._heads)
        if cluster.has_head:
            await _settle_jobs(cluster, Patience.of(ctx.options, jobs="requeue"))
            await attribution.tell_usage(cluster)
        await together(_one_a_host(_workers_first(ctx)), lambda member: _halt(cluster, member))

    async def restart(self, ctx: Context) -> None:
        """`keep`: the daemons restart under running jobs. Otherwise as a stop and a start."""
        if ctx.options.get("jobs", "keep") != "keep":
            await self.stop(ctx)
            await self.start(ctx)
            return
        cluster = Cluster.of(ctx, self._heads)
        async with ctx.step("restart", cluster.head):
            await head_host.bring_up(cluster, await ctx.host(cluster.head), afresh=True)
        await together(cluster.workers, lambda member: _join(cluster, member, afresh=True))
        await _prove(cluster, cluster.workers)
        await _describe(cluster)

    async def teardown(self, ctx: Context) -> None:
        cluster = Cluster.of(ctx, self._heads)
        keep = ctx.options.get("packages") == "keep"
        if ctx.members_of("controller"):
            with suppress(HostUnreachable):  # then jobs end with their hosts, and whose host it is will be said below
                await _cancel_jobs(cluster)
                await attribution.tell_usage(cluster)
        await together(_one_a_host(_workers_first(ctx)), lambda member: _clear_host(cluster, member, keep))

    async def health(self, snapshot: InstanceSnapshot) -> Health | None:
        place = (snapshot.instance.runtime or {}).get("controller")
        address = place.get("address") if isinstance(place, dict) else None
        if address is None:
            return None
        runtime = snapshot.instance.runtime or {}
        since = usage.since(runtime) if runtime.get("accounting") else None
        status = await status_at(str(address), place.get("status_key") if isinstance(place, dict) else None, since)
        health = judge(snapshot.members, status)
        health.runtime = counted(runtime, status)
        if not isinstance(status, str) and status.ended is not None and since is not None:
            self._told.next(snapshot.instance, health, status.ended, since)
        health.mode = at_rest(snapshot.members, snapshot.instance.inputs)
        return health


def _require_mode(cluster: Cluster) -> None:
    require_mode(cluster.inputs.mode, mode_of(at_work(cluster.ctx.all_members)))


def _say_mode(cluster: Cluster, without: Sequence[ControllerMember] = ()) -> None:
    cluster.ctx.set_mode(described(at_work(cluster.ctx.all_members, without), cluster.inputs.mode))


async def _prepare(cluster: Cluster, member: ControllerMember) -> None:
    """On a host of both, the controller's packages are all of them."""
    async with cluster.ctx.step("packages", member):
        await installing.install_packages(cluster, member)


async def _configure(cluster: Cluster, member: ControllerMember, key: str) -> None:
    async with cluster.ctx.step("configure", member):
        await installing.configure(cluster, member, key)


async def _bring_up_head(cluster: Cluster) -> None:
    head = cluster.head
    host = await cluster.ctx.host(head)
    if cluster.inputs.accounting:
        async with cluster.ctx.step("accounting", head):
            await head_host.bring_up_accounting(cluster, host)
    async with cluster.ctx.step("controller", head):
        await head_host.bring_up(cluster, host)
    detail = {"address": host.address, "allocation": place_of(head)}
    cluster.ctx.set_member_status(head, "ready", detail=detail)


async def _join(cluster: Cluster, member: ControllerMember, afresh: bool = False) -> None:
    host, name = await cluster.ctx.host(member), node_name(member.ordinal)
    async with cluster.ctx.step("join", member):
        await installing.name_on_head(cluster, member)
        await worker_host.bring_up(cluster, member, afresh)
        await worker_host.joined(cluster, member)
    cluster.ctx.set_member_status(member, "ready", detail={"address": host.address, "node": name})


async def _prove(cluster: Cluster, workers: list[ControllerMember]) -> None:
    async with cluster.ctx.step("prove"):
        await prove(cluster, [node_name(one.ordinal) for one in workers])


async def _describe(cluster: Cluster) -> None:
    """Three versions that are not the same thing: of the app, of the daemons, of the packages that they came in."""
    ctx, head = cluster.ctx, cluster.head
    host = await ctx.host(head)
    facts = await cluster.host_facts(head)
    _say_mode(cluster)
    ctx.set_runtime(
        app_version=ctx.version.version,
        slurm_version=facts.slurm_version,
        package_version=facts.package_version,
        cluster=cluster.inputs.cluster_name,
        controller={"address": host.address, "status_port": STATUS_PORT, "status_key": cluster.status_key},
        partitions=[one.name for one in cluster.inputs.partitions],
        confined_by=facts.cgroup if cluster.inputs.confine else "none",
        memory_confined=(await cluster.conf()).memory_per_cpu is not None,
        accounting=cluster.inputs.accounting,
        **attribution.known_so_far(cluster),
    )
    await _tell_doors(cluster)


async def _tell_doors(cluster: Cluster, without: Sequence[ControllerMember] = ()) -> None:
    """How people come in; of several projects, each by a machine of its own, so that it changes with the members."""
    host = await cluster.ctx.host(cluster.head)
    user = (await host.run(["id", "-un"])).out.strip()
    door, doors = Door(place_of(cluster.head), host.address, user), attribution.doors(cluster, without)
    cluster.ctx.set_access(**access_bundle(cluster.inputs, door, cluster.ctx.instance.name, doors))


async def _let_go(cluster: Cluster, member: ControllerMember, patience: Patience) -> None:
    name = node_name(member.ordinal)
    if not member.host_gone:
        await leaving.drain(cluster, member, patience)
        # One that does not answer is forgotten all the same; that everything is gone is for the clearing to prove.
        with suppress(HostUnreachable):
            async with cluster.ctx.step("halt", member):
                await clearing.halt(await cluster.ctx.host(member), ("gpuaas-slurm-worker.service",))
    async with cluster.ctx.step("forget", member):
        await _forget(cluster, name)


async def _forget(cluster: Cluster, name: str) -> None:
    await (await cluster.scheduler()).forget(name)
    await ask(await cluster.ctx.host(cluster.head), "names", {"mark": HOSTS_MARK, "names": {}, "forget": [name]})


async def _clear(cluster: Cluster, member: ControllerMember, keep_packages: bool) -> None:
    async with cluster.ctx.step("clear", member):
        host = await cluster.ctx.host(member)
        if cluster.shares_host(member):
            await clearing.clear_worker(host)
        else:
            await clearing.clear_host(cluster, host, keep_packages)


async def _clear_host(cluster: Cluster, member: ControllerMember, keep_packages: bool) -> None:
    async with cluster.ctx.step("clear", member):
        await clearing.clear_host(cluster, await cluster.ctx.host(member), keep_packages)


async def _halt(cluster: Cluster, member: ControllerMember) -> None:
    async with cluster.ctx.step("halt", member):
        await clearing.halt(await cluster.ctx.host(member))


async def _settle_jobs(cluster: Cluster, patience: Patience) -> None:
    """A cluster whose controller does not answer has nobody who could ask its jobs: they end with their hosts."""
    scheduler = await cluster.scheduler()
    if not await scheduler.answers():
        return
    async with cluster.ctx.step("close"):
        # So that what is queued does not begin while we wait, or begin again at once; a start opens them.
        await scheduler.partition_state([one.name for one in cluster.inputs.partitions], "DOWN")
    await together(cluster.workers, lambda member: leaving.settle(cluster, member, patience))


async def _cancel_jobs(cluster: Cluster) -> None:
    async with cluster.ctx.step("cancel-jobs"):
        left = await (await cluster.scheduler()).cancel_all()
    if left:
        await cluster.ctx.report_progress(
            10, f"Jobs that did not end by themselves end with their hosts: {', '.join(left)}"
        )


def _refuse_controller(ctx: Context, what: str) -> None:
    if ctx.members_of("controller"):
        raise Failed(
            "controller_stays",
            f"The controller cannot be {what}: without it there is no cluster.",
            next_step="Decommission the cluster, or recover the controller.",
        )


def _one_a_host(members: list[ControllerMember]) -> list[ControllerMember]:
    """One member for each host, the controller before a worker: what is done for the controller is enough for both."""
    chosen: dict[str, ControllerMember] = {}
    for member in sorted(members, key=lambda one: one.component_key != "controller"):
        chosen.setdefault(place_of(member), member)
    return list(chosen.values())


def _workers_first(ctx: Context) -> list[ControllerMember]:
    return [*ctx.members_of("worker"), *ctx.members_of("controller")]


def run() -> None:
    main(Slurm())


if __name__ == "__main__":
    run()
