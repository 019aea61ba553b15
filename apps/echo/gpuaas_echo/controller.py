"""The controller: each handler brings the hosts to the wanted state, whatever state they are in."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

from gpuaas_echo import workload
from gpuaas_sdk import ControllerInstance, Instance, InstanceMember
from gpuaas_sdk.controller import (
    AppController,
    Context,
    ControllerMember,
    Counter,
    Failed,
    Health,
    HostUnreachable,
    InstanceSnapshot,
    UsageCounters,
    main,
)


class Echo(AppController):
    slug = "echo"
    components = ("hub", "relay")

    async def deploy(self, ctx: Context) -> None:
        """Brings up the hub first: a relay needs its hub."""
        for member in (*ctx.members_of("hub"), *ctx.members_of("relay")):
            await self._bring_up(ctx, member)
        if ctx.members_of("hub"):
            await self._describe(ctx)

    # These do the same, whatever ran before: afterwards the members of the operation run the wanted version.
    add = reconcile = start = deploy

    async def upgrade(self, ctx: Context) -> None:
        await self._report_usage(ctx)  # the hub restarts and counts from zero
        await self.deploy(ctx)

    async def replace(self, ctx: Context) -> None:
        """Let the relays follow a hub that moves before the old hub goes: the manifest says `opens_dependents`."""
        if ctx.new_member is not None:
            await self.add(ctx.for_members(ctx.new_member))
            if ctx.new_member.component_key == "hub":
                await self._follow_hub(ctx.for_members(ctx.new_member))
        if ctx.old_member is not None and not ctx.old_member.host_gone:
            await self.remove(ctx.for_members(ctx.old_member))

    async def drain(self, ctx: Context) -> None:
        for member in ctx.members:
            async with ctx.step("drain", member):
                await workload.drain(await ctx.host(member), member.component_key)
            ctx.set_member_status(member, "drained")

    async def stop(self, ctx: Context) -> None:
        await self._report_usage(ctx)
        for member in (*ctx.members_of("relay"), *ctx.members_of("hub")):
            async with ctx.step("stop", member):
                await (await ctx.host(member)).stop_unit(workload.unit(member.component_key))

    async def remove(self, ctx: Context) -> None:
        await self.stop(ctx)
        for member in ctx.members:
            async with ctx.step("remove", member):
                await (await ctx.host(member)).remove_all()

    decommission = remove

    async def health(self, snapshot: InstanceSnapshot) -> Health:
        health, runtime = Health(), dict(snapshot.instance.runtime or {})
        counters = UsageCounters.read(runtime)
        for member in snapshot.members:
            answer = await enquire(member)
            health.add_member(member, answer if isinstance(answer, str) else None)
            if isinstance(answer, int) and member.component_key == "hub":
                observe_lines(counters, snapshot.instance, member.name, answer)
        health.usage, health.runtime = counters.usage, runtime | counters.document()
        return health

    async def _report_usage(self, ctx: Context) -> None:
        """Records the lines that were answered since the last health check, while the hub still runs."""
        for hub in ctx.members_of("hub"):

            async def read(runtime: Mapping[str, object], hub: ControllerMember = hub) -> UsageCounters:
                counters = UsageCounters.read(runtime)
                if isinstance(answer := await enquire(hub), int):
                    observe_lines(counters, ctx.instance, hub.name, answer)
                return counters

            async with ctx.step("usage", hub):
                await ctx.record_counters(read)

    async def _bring_up(self, ctx: Context, member: ControllerMember) -> None:
        host, role = await ctx.host(member), member.component_key
        hub = [await hub_address(ctx)] if role == "relay" else []
        arguments = [str(ctx.inputs.get("greeting", "hello")), *hub]
        async with ctx.step("install", member):
            await workload.install(host, ctx.artifact)
        async with ctx.step("start", member):
            # A drained relay still runs and no longer listens.
            restart = member.status in ("joining", "drained", "failed")
            await workload.start(host, role, ctx.version.version, arguments, restart=restart)
        ctx.set_member_status(member, "ready", detail={"address": host.address})

    async def _follow_hub(self, ctx: Context) -> None:
        """Points the relays to the operation's hub. One that does not run, or is out of reach, follows when it is recovered."""
        arguments = [str(ctx.inputs.get("greeting", "hello")), await hub_address(ctx)]
        for relay in ctx.all_members:
            if relay.component_key == "relay" and relay.status in ("ready", "degraded") and not relay.host_gone:
                with suppress(HostUnreachable):
                    async with ctx.step("follow-hub", relay):
                        await workload.start(await ctx.host(relay), "relay", ctx.version.version, arguments)

    async def _describe(self, ctx: Context) -> None:
        address, port = (await hub_address(ctx)).split(":")
        ctx.set_runtime(version=ctx.version.version, hub=f"{address}:{port}")
        ctx.set_access(talk=f"nc {address} {port}", health=f"nc -z {address} {port}")


async def hub_address(ctx: Context) -> str:
    """Returns the hub's address from the instance's runtime: an operation on a relay alone has no access to the hub's host."""
    known = (ctx.instance.runtime or {}).get("hub")
    for hub in ctx.members_of("hub"):
        return f"{(await ctx.host(hub)).address}:{workload.PORTS['hub']}"
    if known is None:
        raise Failed("no_hub", "The hub has not been deployed.", next_step="Deploy the instance first.")
    return str(known)


async def enquire(member: InstanceMember | ControllerMember) -> int | str:
    """Returns how many lines the hub has answered, or why the member does not echo."""
    return await enquire_at(str((member.adapter_detail or {}).get("address")), workload.PORTS[member.component_key])


async def enquire_at(address: str, port: int) -> int | str:
    try:
        async with asyncio.timeout(3):
            reader, writer = await asyncio.open_connection(address, port)
            writer.write(workload.ENQ + b"\n")
            answer = await reader.readline()
            writer.close()
    except (OSError, TimeoutError, ValueError) as error:
        return f"{address}:{port} does not answer: {type(error).__name__}"
    _, echoed, count = answer.rpartition(b" " + workload.ENQ + b" ")
    return int(count) if echoed and count[:-1].isdigit() and len(count) < 20 else f"{address}:{port} does not echo"


def observe_lines(counters: UsageCounters, instance: Instance | ControllerInstance, hub: str, lines: int) -> None:
    """Notes how many lines the hub has answered since it started. What it answered before the first reading counts too."""
    project = next(one.project_id for one in instance.projects if one.home)
    counter = Counter("lines", "count", project, hub)
    if instance.created_at is not None:
        counters.start_at_zero(counter, instance.created_at)
    counters.observe(counter, lines, datetime.now(UTC))


def run() -> None:
    main(Echo())


if __name__ == "__main__":
    run()
