"""An app that records what its handlers do, and how tests of the controller framework deploy and remove it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from gpuaas_sdk import Operation
from gpuaas_sdk.controller import AppController, Context, Health, InstanceSnapshot
from gpuaas_sdk.testing import CatalogApp, running_replica

Begin = Callable[[], tuple[str, Operation]]
HANG = 60.0  # what has not happened by then does not happen, however busy the machine is

MANIFEST = """\
manifest: 1
slug: {slug}
display_name: Notes
version: 1.0.0
runtime_version: "1"
artifact: {kind: controller, digest: "{digest}"}
compatibility: {}
components:
  - {key: head, min: 1, max: 1}
  - {key: leaf, min: 0, max: 4}
inputs: {type: object, properties: {tone: {type: string, default: low}}}
footprint: {units: [notes.service]}
"""


@dataclass
class Notes(AppController):
    """Records what it does. `trouble` is raised in the step `second`; `hold` keeps the step `first` waiting."""

    slug: str = ""
    done: list[str] = field(default_factory=list)
    trouble: Exception | None = None
    hold: asyncio.Event | None = None
    began: asyncio.Event = field(default_factory=asyncio.Event)
    health_seconds: float = 0.2

    async def deploy(self, ctx: Context) -> None:
        async with ctx.step("first"):
            self.done.append("first")
            self.began.set()
            if self.hold is not None:
                await self.hold.wait()
        await ctx.run_once("once", self._once)
        async with ctx.step("second"):
            if self.trouble is not None:
                raise self.trouble
            self.done.append("second")
        for member in ctx.members:
            ctx.set_member_status(member, "ready", detail={"seen": True})
        ctx.set_runtime(version=ctx.version.runtime_version, tone=ctx.inputs["tone"])
        ctx.set_access(talk="nc somewhere 7")

    async def _once(self) -> None:
        self.done.append("once")

    async def add(self, ctx: Context) -> None:
        async with ctx.step("join", ctx.new_member):
            self.done.append(f"join {[one.component_key for one in ctx.members]}")

    async def stop(self, ctx: Context) -> None:
        async with ctx.step("halt"):
            self.done.append("halt")

    async def start(self, ctx: Context) -> None:
        async with ctx.step("go"):
            self.done.append("go")

    async def health(self, snapshot: InstanceSnapshot) -> Health:
        health = Health()
        for member in snapshot.members:
            health.add_member(member, "it hums" if member.component_key == "head" else None)
        return health


def decommission(catalog_app: CatalogApp, instance_id: str) -> None:
    class OnlyDecommission(AppController):
        async def decommission(self, ctx: Context) -> None:
            pass

    async def put() -> None:
        app = OnlyDecommission()
        app.slug = catalog_app.slug
        live = catalog_app.instance(instance_id).operation_id
        if live is not None:
            catalog_app.sandbox.admin.operations.cancel(catalog_app.project_id, live)
        async with running_replica(app, catalog_app.controller("away")):
            if live is not None:
                await ended(catalog_app, catalog_app.sandbox.admin.operations.show(catalog_app.project_id, live))
            operation = await asyncio.to_thread(catalog_app.operate, instance_id, "decommission")
            assert (await ended(catalog_app, operation)).status == "succeeded"

    asyncio.run(put())


async def ended(catalog_app: CatalogApp, operation: Operation) -> Operation:
    return await asyncio.to_thread(catalog_app.ended, operation, HANG)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG):
        while not await asyncio.to_thread(true):
            await asyncio.sleep(0.05)
