"""The controller: each handler brings the members' containers to the wanted state, whatever state the hosts are in."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import TypeVar

from gpuaas_containers import workload
from gpuaas_containers.access import ReachableMember, access_bundle
from gpuaas_containers.failures import hide
from gpuaas_containers.names import MemberNames
from gpuaas_containers.profile import RuntimeProfile, image_of, read_profile
from gpuaas_containers.services import has_services, in_start_order, other_hosts, reported_addresses
from gpuaas_containers.user_data import MemberContainer
from gpuaas_sdk.controller import AppController, Context, ControllerMember, Failed, main

AT_ONCE = 8  # members of an operation that are worked on at the same time
Work = Callable[[ControllerMember], Awaitable[None]]
Answer = TypeVar("Answer")


def _own_version() -> str | None:
    try:
        return version("gpuaas-containers")
    except PackageNotFoundError:  # run from its sources
        return None


class Containers(AppController):
    """Serves every app that its service account is bound to: what an app is, its runtime profile says."""

    slug = ""
    version = _own_version()

    async def bootstrap(self, ctx: Context) -> None:
        """Bring up the container of each member. One that runs as it should is left alone."""
        if not ctx.rotates_secrets:  # containers share none
            await self._bring_up(ctx)

    # These do the same, whatever ran before: afterwards the members of the operation run the wanted version.
    add = reconcile = repair = recover = upgrade = rollback = start = bootstrap

    async def restart(self, ctx: Context) -> None:
        await self._bring_up(ctx, restart=True)

    async def stop(self, ctx: Context) -> None:
        for group in reversed(in_start_order(ctx.manifest, ctx.members)):
            await _each(group, lambda member: self._stop(ctx, member))

    async def drain(self, ctx: Context) -> None:
        """A container is asked to end and has its time to do so: it finishes what it does and takes no more."""
        await self.stop(ctx)
        for member in ctx.members:
            ctx.set_member_status(member, "drained")

    async def remove(self, ctx: Context) -> None:
        await self.teardown(ctx)
        await _describe_access(ctx, leaving=ctx.members)

    async def teardown(self, ctx: Context) -> None:
        await _each(ctx.members, lambda member: self._remove(ctx, member))
        await self._remove_rest(ctx)

    async def _bring_up(self, ctx: Context, *, restart: bool = False) -> None:
        addresses = await _addresses(ctx)
        images: dict[str, object] = {}
        for group in in_start_order(ctx.manifest, ctx.members):
            profiles = {one.component_key: read_profile(ctx.manifest, ctx.inputs, one.component_key) for one in group}
            images |= {key: profile.image for key, profile in profiles.items()}

            async def start(member: ControllerMember, profiles: dict[str, RuntimeProfile] = profiles) -> None:
                await self._start(ctx, profiles[member.component_key], member, restart, addresses)

            await _each(group, start)
        ctx.set_runtime(version=ctx.version.version, image=ctx.version.digest, images=images)
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
        limit, anew = asyncio.get_running_loop().time() + profile.start_seconds, restart or member.status == "failed"
        title = f"{ctx.instance.name} {member.component_key} {ctx.version.version}"
        try:
            async with ctx.step("check", member):
                gpus = await workload.check_host(host, names, profile)
            async with ctx.step("pull", member):
                reference = await workload.pull(host, names, ctx.artifact_of(profile.image), limit)
                await workload.fetch_files(host, names, profile, ctx)
            container = MemberContainer(names, profile, reference, gpus, ctx.instance.id, title)
            if names.shared is not None:
                hosts = other_hosts(member, ctx.all_members, addresses)
                container = replace(container, aliases=(member.component_key,), hosts=hosts)
            async with ctx.step("start", member):
                state = await _hiding(profile, workload.start(host, container, limit, restart=anew))
        except Failed as failed:
            ctx.set_member_status(member, "failed", message=failed.failure.message)
            raise
        detail = {**state, "address": host.address, "image": profile.image}
        ctx.set_member_status(member, "ready", detail=detail)

    async def _stop(self, ctx: Context, member: ControllerMember) -> None:
        async with ctx.step("stop", member):
            await workload.stop(await ctx.host(member), _names(ctx, member))

    async def _remove(self, ctx: Context, member: ControllerMember) -> None:
        manifests = (ctx.manifest, ctx.instance.version.manifest)
        images = (image_of(manifest, member.component_key) for manifest in manifests)
        digests = [one for one in images if one is not None]
        async with ctx.step("remove", member):
            await workload.remove(await ctx.host(member), _names(ctx, member), digests)

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


async def _hiding(profile: RuntimeProfile, work: Awaitable[Answer]) -> Answer:
    """A container may print what it was given; no step or failure repeats it."""
    try:
        return await work
    except Failed as failed:
        raise hide(failed, profile.answers) from None


async def _describe_access(ctx: Context, leaving: Sequence[ControllerMember] = ()) -> None:
    """An operation on some members reaches only their hosts; the others have told their addresses before."""
    gone = {one.id for one in (*leaving, *([ctx.old_member] if ctx.old_member else ()))}
    here, found = {one.id for one in ctx.members}, []
    for member in ctx.all_members:
        if member.id in gone or member.host_gone:
            continue
        address = (await ctx.host(member)).address if member.id in here else _told_address(ctx, member)
        if isinstance(address, str):
            found.append(ReachableMember(member.component_key, member.ordinal, address))
    ctx.set_access(**access_bundle(ctx.manifest, found))


def _told_address(ctx: Context, member: ControllerMember) -> object:
    """What this operation has reported of the member, or one before it."""
    now = ctx.report.members.get(member.id, {}).get("adapter_detail")
    detail = now if isinstance(now, Mapping) else member.adapter_detail or {}
    return detail.get("address")


def run() -> None:
    main(Containers())


if __name__ == "__main__":
    run()
