"""The controller: each handler brings the hosts to the wanted state, whatever state they are in."""

import asyncio

from gpuaas_echo import workload
from gpuaas_sdk.controller import AppController, Context, ControllerMember, Failed, Health, InstanceSnapshot, main


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
    add = reconcile = upgrade = start = deploy

    async def drain(self, ctx: Context) -> None:
        for member in ctx.members:
            async with ctx.step("drain", member):
                await workload.drain(await ctx.host(member), member.component_key)
            ctx.set_member_status(member, "drained")

    async def stop(self, ctx: Context) -> None:
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
        health = Health()
        for member in snapshot.members:
            detail = member.adapter_detail or {}
            problem = await find_problem(str(detail.get("address")), workload.PORTS[member.component_key])
            health.add_member(member, problem)
        return health

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


async def find_problem(address: str, port: int) -> str | None:
    """Returns why the address does not echo, or None when it does."""
    try:
        async with asyncio.timeout(3):
            reader, writer = await asyncio.open_connection(address, port)
            writer.write(b"ping\n")
            answer = await reader.readline()
            writer.close()
    except (OSError, TimeoutError) as error:
        return f"{address}:{port} does not answer: {type(error).__name__}"
    return None if answer.endswith(b" ping\n") else f"{address}:{port} does not echo"


def run() -> None:
    main(Echo())


if __name__ == "__main__":
    run()
