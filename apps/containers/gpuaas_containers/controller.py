"""The controller: each handler brings the members' containers to the wanted state, whatever state the hosts are in."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from gpuaas_containers import workload
from gpuaas_containers.access import ReachableMember, access_bundle
from gpuaas_containers.container_secrets import ContainerSecret, choose_secrets
from gpuaas_containers.gpu_assignment import claims_on, gpus_of_member
from gpuaas_containers.gpu_devices import GpuDevices, choose_gpus
from gpuaas_containers.host_meter import units_of
from gpuaas_containers.member_container import MemberContainer
from gpuaas_containers.names import MemberNames
from gpuaas_containers.profile import RuntimeProfile, image_of, read_profile
from gpuaas_containers.readiness import awaited_components, readiness_probes
from gpuaas_containers.redaction import may_have_secrets, redact_failure
from gpuaas_containers.runtime_versions import version_of_containers, version_of_images
from gpuaas_containers.services import has_services, in_start_order, other_hosts, reported_addresses
from gpuaas_containers.usage import MeteredInstance, observe_counts
from gpuaas_sdk.controller import (
    AppController,
    Context,
    ControllerMember,
    Failed,
    Health,
    InstanceSnapshot,
    MemberCounts,
    UsageCounters,
    counts_path,
    main,
)

METERING = "metering"  # in the runtime: the units of what hosts count
AT_ONCE = 8  # members of an operation that are worked on at the same time
Work = Callable[[ControllerMember], Awaitable[None]]


def _own_version() -> str | None:
    try:
        return version("gpuaas-containers")
    except PackageNotFoundError:  # run from its sources
        return None


class Containers(AppController):
    """Serves every app that its service account is bound to: what an app is, its runtime profile says."""

    slug = ""
    health_seconds = 300.0  # between two readings of what hosts have counted
    version = _own_version()

    async def deploy(self, ctx: Context) -> None:
        """Bring up the container of each member. One that runs as it should is left alone; other secrets restart it."""
        if ctx.rotated_secrets:
            await ctx.secrets()  # the platform makes the new values when they are read, also if every reader is drained
        await self._bring_up(ctx.for_members(*_secret_readers(ctx)) if ctx.rotates_secrets else ctx)

    # These do the same, whatever ran before: afterwards the members of the operation run the wanted version.
    add = reconcile = repair = recover = upgrade = rollback = start = deploy

    async def restart(self, ctx: Context) -> None:
        await self._bring_up(ctx, restart=True)

    async def stop(self, ctx: Context) -> None:
        for group in reversed(in_start_order(ctx.manifest, ctx.members)):
            await _each(group, lambda member: self._stop(ctx, member))
        await _report_usage(ctx)

    async def drain(self, ctx: Context) -> None:
        """Asks each container to end and gives it its time to do so: it finishes what it does and takes no more."""
        await self.stop(ctx)
        for member in ctx.members:
            ctx.set_member_status(member, "drained")

    async def remove(self, ctx: Context) -> None:
        await self.decommission(ctx)
        await _describe_access(ctx, leaving=ctx.members)

    async def decommission(self, ctx: Context) -> None:
        await _each(ctx.members, lambda member: self._stop(ctx, member))
        await _report_usage(ctx)  # before what the hosts have counted goes
        await _each(ctx.members, lambda member: self._remove(ctx, member))
        await self._remove_rest(ctx)

    async def health(self, snapshot: InstanceSnapshot) -> Health | None:
        """Read what the hosts have counted. Whether the app works, the platform's probes say."""
        instance = snapshot.instance
        runtime = dict(instance.runtime or {})
        units = runtime.get(METERING)
        if not isinstance(units, dict):
            return None  # it was brought up by a release that counted nothing, or not at all yet
        if any(one.operation_id is not None for one in snapshot.members):
            return None  # the operation may count too; what is counted meanwhile is read when it has ended
        names = {one.id: one.name for one in snapshot.members}
        metered = MeteredInstance(instance.id, instance.project_id, instance.created_at, units, names)
        found, details = await snapshot.read_counts(), {one.id: one.adapter_detail or {} for one in snapshot.members}
        counters = observe_counts(metered, runtime, found, datetime.now(UTC))
        kept = runtime | counters.document() | version_of_containers(details, instance.digest, found)
        return Health(None, usage=counters.usage, runtime=kept) if kept != runtime or counters.usage else None

    async def _bring_up(self, ctx: Context, *, restart: bool = False) -> None:
        addresses = await _addresses(ctx)
        for group in in_start_order(ctx.manifest, ctx.members):
            profiles = {one.component_key: read_profile(ctx.manifest, ctx.inputs, one.component_key) for one in group}

            async def start(member: ControllerMember, profiles: dict[str, RuntimeProfile] = profiles) -> None:
                await self._start(ctx, profiles[member.component_key], member, restart, addresses)

            await _each(group, start)
            await self._await_ready(ctx, group)
        images = {one.component_key: image_of(ctx.manifest, one.component_key) for one in ctx.all_members}
        ctx.set_runtime(
            version=ctx.version.version,
            image=ctx.version.digest,
            images=images,
            **_runtime_version(ctx),
            **{METERING: _units(ctx)},
        )
        await _describe_access(ctx)

    async def _start(
        self,
        ctx: Context,
        profile: RuntimeProfile,
        member: ControllerMember,
        restart: bool,
        addresses: Mapping[str, str],
    ) -> None:
        host, names = await ctx.host(member), _names(ctx, member)
        limit = asyncio.get_running_loop().time() + profile.start_seconds
        anew = restart or member.status == "failed" or member.health == "unhealthy"  # it runs, and may hang
        title = f"{ctx.instance.name} {member.component_key} {ctx.version.version}"
        try:
            async with ctx.step("check", member):
                gpus = _gpus(ctx, member, await workload.check_host(host, names, profile))
                secrets = await _secrets(ctx, profile, names)
            async with ctx.step("pull", member):
                image = await workload.pull(host, names, ctx.artifact_of(profile.image), limit)
                await workload.fetch_files(host, names, profile, ctx)
            container = MemberContainer(
                names, profile, image.reference, gpus, ctx.instance.id, member.id, title, secrets=secrets
            )
            if names.shared is not None:
                hosts = other_hosts(member, ctx.all_members, addresses)
                container = replace(container, aliases=(member.component_key,), hosts=hosts)
            async with ctx.step("start", member):
                await workload.put_secrets(host, container)
                started = workload.start(host, container, limit, restart=anew)
                state = await redact_failure(ctx, member, started)
                if image.has_earlier:
                    await workload.forget_images(host, container)
                if may_have_secrets(ctx):
                    await workload.forget_secrets(host, names, secrets.values())
        except Failed as failed:
            ctx.set_member_status(member, "failed", message=failed.failure.message)
            raise
        detail: dict[str, object] = {
            **state,
            "address": host.address,
            "image": profile.image,
            "signature": image.signature,
        }
        if gpus.gpus:
            detail["gpus"] = list(gpus.gpus)
        ctx.set_member_status(member, "ready", detail=detail)

    async def _await_ready(self, ctx: Context, group: Sequence[ControllerMember]) -> None:
        """Wait for members that others of this operation start after. All others are judged when the operation is done."""
        present = {one.component_key for one in ctx.members}
        awaited = awaited_components(ctx.manifest, present)

        async def wait(member: ControllerMember) -> None:
            probes = readiness_probes(ctx.manifest, member.component_key)
            if probes:
                async with ctx.step("ready", member):
                    ready = workload.await_ready(await ctx.host(member), _names(ctx, member), probes)
                    await redact_failure(ctx, member, ready)

        await _each([one for one in group if one.component_key in awaited], wait)

    async def _stop(self, ctx: Context, member: ControllerMember) -> None:
        async with ctx.step("stop", member):
            await redact_failure(ctx, member, workload.stop(await ctx.host(member), _names(ctx, member)))

    async def _remove(self, ctx: Context, member: ControllerMember) -> None:
        manifests = (ctx.manifest, ctx.instance.version.manifest)
        images = (image_of(manifest, member.component_key) for manifest in manifests)
        digests = [one for one in images if one is not None]
        async with ctx.step("remove", member):
            counts = counts_path(ctx.instance.id, member.id)
            removed = workload.remove(await ctx.host(member), _names(ctx, member), digests, counts)
            await redact_failure(ctx, member, removed)

    async def _remove_rest(self, ctx: Context) -> None:
        """Remove what belongs to the instance and to no single member, on hosts where none of them is left."""
        leaving = {member.id for member in ctx.members}
        kept = {one.allocation.id for one in ctx.all_members if one.allocation is not None and one.id not in leaving}
        last = {one.allocation.id: one for one in ctx.members if one.allocation is not None}
        for allocation_id, member in last.items():
            if allocation_id not in kept:
                async with ctx.step("remove_rest", member):
                    await workload.remove_rest(await ctx.host(member), _names(ctx, member))


def _names(ctx: Context, member: ControllerMember) -> MemberNames:
    return MemberNames.of(ctx.instance.id, member.component_key, member.id, services=has_services(ctx.manifest))


async def _report_usage(ctx: Context) -> None:
    """Record what the hosts of stopped members have counted."""
    instance = ctx.instance
    home = next(one.project_id for one in instance.projects if one.home)
    names = {one.id: one.name for one in ctx.all_members}
    metered = MeteredInstance(instance.id, home, instance.created_at, _units(ctx), names)

    async def read(runtime: Mapping[str, object]) -> UsageCounters:
        found: list[MemberCounts] = []
        for member in ctx.members:
            found += await workload.read_counts(await ctx.host(member), instance.id, member.id)
        return observe_counts(metered, runtime, found, datetime.now(UTC), forget=False)

    async with ctx.step("usage"):
        await ctx.record_counters(read)


def _units(ctx: Context) -> dict[str, str]:
    """Return the units of what hosts count, also of what an earlier version counted: some of it may not be recorded yet."""
    before = (ctx.instance.runtime or {}).get(METERING)
    return units_of(ctx.manifest) | (dict(before) if isinstance(before, Mapping) else {})


def _gpus(ctx: Context, member: ControllerMember, found: GpuDevices) -> GpuDevices:
    if member.allocation is None:
        return GpuDevices()
    claims = claims_on(member.allocation.id, ctx.all_members, ctx.manifest, ctx.inputs)
    return choose_gpus(found, gpus_of_member(member.id, claims, found.gpus))


async def _addresses(ctx: Context) -> dict[str, str]:
    """Return the addresses of all members' hosts, by allocation: of this operation, or as they were reported last."""
    found = reported_addresses(ctx.all_members)
    for member in ctx.members:
        if member.allocation is not None:
            found[member.allocation.id] = (await ctx.host(member)).address
    return found


async def _each(members: Sequence[ControllerMember], work: Work) -> None:
    """Work on some members at the same time. All come to their end; then the first failure is the outcome."""
    free = asyncio.Semaphore(AT_ONCE)

    async def run(member: ControllerMember) -> None:
        async with free:
            await work(member)

    ended = await asyncio.gather(*(run(member) for member in members), return_exceptions=True)
    failures = [one for one in ended if one is not None]
    # What is no Exception ends the handler itself: this replica stops, or has lost the operation.
    for failure in sorted(failures, key=lambda one: isinstance(one, Exception)):
        raise failure


def _secret_readers(ctx: Context) -> list[ControllerMember]:
    """Return the members whose containers read a secret that the operation changes. One that was drained stays so."""
    changed = set(ctx.rotated_secrets)
    reading = (
        (one, read_profile(ctx.manifest, ctx.inputs, one.component_key).secret_keys if changed else ())
        for one in ctx.members
    )
    return [one for one, keys in reading if changed & set(keys) and one.status != "drained"]


async def _secrets(ctx: Context, profile: RuntimeProfile, names: MemberNames) -> dict[str, ContainerSecret]:
    return choose_secrets(profile, names, await ctx.secrets()) if profile.secret_keys else {}


async def _describe_access(ctx: Context, leaving: Sequence[ControllerMember] = ()) -> None:
    """Report the access bundle. An operation on some members reaches only their hosts; other addresses were reported before."""
    gone = {one.id for one in (*leaving, *([ctx.old_member] if ctx.old_member else ()))}
    here, found = {one.id for one in ctx.members}, []
    for member in ctx.all_members:
        if member.id in gone or member.host_gone:
            continue
        address = (await ctx.host(member)).address if member.id in here else _reported_address(ctx, member)
        if isinstance(address, str):
            found.append(ReachableMember(member.component_key, member.ordinal, address))
    ctx.set_access(**access_bundle(ctx.manifest, found), **_runtime_version(ctx))


def _reported_address(ctx: Context, member: ControllerMember) -> object:
    return _told_detail(ctx, member).get("address")


def _told_detail(ctx: Context, member: ControllerMember) -> Mapping[str, object]:
    """Return what this operation, or an earlier one, has reported of the member."""
    now = ctx.report.members.get(member.id, {}).get("adapter_detail")
    return now if isinstance(now, Mapping) else member.adapter_detail or {}


def _runtime_version(ctx: Context) -> dict[str, object]:
    details = (_told_detail(ctx, member) for member in ctx.all_members)
    return version_of_images(details, ctx.version.digest, ctx.instance.runtime, ctx.version.version)


def run() -> None:
    main(Containers())


if __name__ == "__main__":
    run()
