"""A controller killed after every call, and a worker killed at every stage: the end must equal the undisturbed one.

A controller that is killed says nothing more; its lease lapses, and another replica begins the operation anew.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from gpuaas_server.instances.reconciler import Decision, Loaded, OperationReconciler
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import PLATFORM, Connection
from gpuaas_server.work import leases
from gpuaas_server.work.worker import Worker
from tests_support.apps import AppSite, Controller

CALLS = ("claim", "report", "report again", "complete")


class Killed(Exception):
    """Stands for SIGKILL: nothing after it runs."""


async def _carry_out(controller: Controller, operation_id: str, until: str | None) -> None:
    """One whole operation, killed after the call that is named."""
    for call in CALLS:
        if call == "claim":
            await controller.does(operation_id, "claim")
        elif call == "complete":
            await controller.does(operation_id, "complete")
        else:
            status = "running" if call == "report" else "succeeded"
            await controller.does(operation_id, "report", steps=[{"name": "install", "status": status}])
        if call == until:
            raise Killed(call)


async def _life(world: AppSite, name: str, killed_after: str | None) -> tuple[list[str], list[str]]:
    """Deploy, restart and decommission; the states that the instance and its operations went through."""
    instance_id, deploy = await world.created(name)
    operations = [deploy]
    for verb in (None, "restart", "decommission"):
        operation_id = deploy if verb is None else await world.asked(instance_id, verb)
        operations.append(operation_id)
        try:
            await _carry_out(world.controller, operation_id, killed_after)
        except Killed as killed:
            if str(killed) != "complete":
                world.clock.ahead += timedelta(seconds=61)
                await world.settle()
                await _carry_out(world.second_replica(), operation_id, None)
        await world.settle()
    seen = [name for name in await world.timeline(instance_id) if name.startswith("instance.")]
    return seen, [(await world.operation(one))["status"] for one in operations]


async def test_a_controller_killed_after_any_call_changes_nothing_in_the_end(world: AppSite) -> None:
    undisturbed = await _life(world, "calm", None)
    assert set(undisturbed[1]) == {"succeeded"}
    assert "instance.decommissioned" in undisturbed[0]
    for call in CALLS:
        assert await _life(world, call.replace(" ", "-"), call) == undisturbed, call


@dataclass
class Disturbed:
    """The real reconciler, killed once at one stage; afterwards it runs as usual."""

    reconciler: OperationReconciler
    stage: str
    struck: bool = False
    kind: str = OperationReconciler.kind

    def _strike(self, stage: str) -> None:
        if not self.struck and stage == self.stage:
            self.struck = True
            raise Killed(stage)

    async def load(self, connection: Connection, subject: str) -> Loaded | None:
        self._strike("load")
        return await self.reconciler.load(connection, subject)

    def decide(self, loaded: Loaded, now: datetime) -> Decision:
        self._strike("decide")
        return self.reconciler.decide(loaded, now)

    async def apply(self, tx: Tx, loaded: Loaded, decision: Decision) -> datetime | None:
        self._strike("apply")
        again = await self.reconciler.apply(tx, loaded, decision)
        self._strike("after_apply")
        return again


async def _run(world: AppSite, reconciler: Disturbed) -> None:
    """Run what is due with the reconciler that is killed; the lease of the killed run lapses immediately."""
    platform = world.platform
    worker = Worker(platform, [reconciler])
    for _ in range(10):
        async with platform.database.connection(PLATFORM) as connection:
            taken = await leases.take(connection, [reconciler.kind], "w", world.clock(), 60, 10)
        for lease in taken:
            try:
                await worker._advance(lease)
            except Killed:
                async with platform.database.connection(PLATFORM) as connection:
                    await connection.execute("UPDATE work_items SET lease_until = NULL WHERE id = %s", (lease.id,))
        if not taken:
            return


@pytest.mark.parametrize("stage", ["load", "decide", "apply", "after_apply"])
async def test_a_worker_killed_at_any_stage_neither_loses_nor_doubles_an_end(world: AppSite, stage: str) -> None:
    instance_id = await world.running()
    operation_id = await world.asked(instance_id, "stop", deadline_seconds=60)
    world.clock.ahead += timedelta(seconds=90)
    reconciler = Disturbed(OperationReconciler(world.platform), stage)
    await _run(world, reconciler)
    assert reconciler.struck
    assert (await world.operation(operation_id))["status"] == "expired"
    assert (await world.instance(instance_id))["status"] == "running"
    assert (await world.timeline(instance_id)).count("operation.expired") == 1
