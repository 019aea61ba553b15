"""A controller for a simulated fleet: it reports the steps of its app and touches no host.

The framework, the leases, the reports and the receipts are real; only the work on hosts is left out.
"""

import asyncio
from collections.abc import Sequence

from gpuaas_sdk.controller import AppController, Context, Failed, Health, InstanceSnapshot

STEP_SECONDS = 0.05


class SimulatedController(AppController):
    """`troubles`: instance name → the failure of its next deployment."""

    def __init__(self, slug: str, steps: Sequence[str], runtime: dict[str, object], access: dict[str, object]) -> None:
        self.slug = slug
        self.health_seconds = 0.5
        self._steps, self._runtime, self._access = steps, runtime, access
        self.troubles: dict[str, Failed] = {}
        self.ailing: dict[str, str] = {}  # instance name → the health problem of its last member

    async def deploy(self, ctx: Context) -> None:
        trouble = self.troubles.get(ctx.instance.name)
        for member in ctx.members:
            for step in self._steps:
                async with ctx.step(step, member):
                    await asyncio.sleep(STEP_SECONDS)
                    if trouble is not None and step == self._steps[-1]:
                        raise trouble
            ctx.set_member_status(member, "ready")
        ctx.set_runtime(**self._runtime)
        ctx.set_access(**self._access)

    add = reconcile = upgrade = start = deploy

    async def drain(self, ctx: Context) -> None:
        for member in ctx.members:
            async with ctx.step("wait-for-jobs", member):
                await asyncio.sleep(STEP_SECONDS)
            ctx.set_member_status(member, "drained")

    async def remove(self, ctx: Context) -> None:
        for member in ctx.members:
            async with ctx.step("remove", member):
                await asyncio.sleep(STEP_SECONDS)

    stop = decommission = remove

    async def health(self, snapshot: InstanceSnapshot) -> Health:
        found, said = Health(), self.ailing.get(snapshot.instance.name)
        for number, member in enumerate(snapshot.members, 1):
            found.add_member(member, said if number == len(snapshot.members) else None)
        return found
