"""One helper disturbs every stage of every step of an allocation's life; the end must equal the undisturbed one.

A disturbance before the commit stands for a killed worker: its lease lapses and somebody else goes on.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest

from gpuaas_server.allocations.reconciler import AllocationReconciler, Loaded
from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import PLATFORM, Connection
from gpuaas_server.work import leases
from gpuaas_server.work.worker import Worker
from tests_support import agents
from tests_support.agents import Host, Json, Site, inventory, slot
from tests_support.capacity_checks import assert_consistent

STAGES = ("load", "decide", "apply", "after_apply")
LIFE = ["requested", "provisioning", "active", "releasing", "released"]
WAY_IN = {"ssh": {"address": "10.0.0.1", "port": 22, "user": "gpu"}}
CLEAN = {"clean": True, "checks": []}


class Killed(Exception):
    """Stands for SIGKILL: nothing after it runs, and the transaction was not committed."""


@dataclass
class Disturbed:
    """The real reconciler, killed once at one stage of its n-th run; afterwards it runs as usual."""

    reconciler: AllocationReconciler
    stage: str
    run: int
    runs: int = 0
    struck: bool = False
    kind: str = AllocationReconciler.kind

    def _strike(self, stage: str) -> None:
        if not self.struck and stage == self.stage and self.runs == self.run:
            self.struck = True
            raise Killed(f"{stage} of run {self.run}")

    async def load(self, connection: Connection, subject: str) -> Loaded | None:
        self.runs += 1
        self._strike("load")
        return await self.reconciler.load(connection, subject)

    def decide(self, loaded: Loaded, now: datetime) -> Any:
        self._strike("decide")
        return self.reconciler.decide(loaded, now)

    async def apply(self, tx: Tx, loaded: Loaded, decision: Any) -> datetime | None:
        self._strike("apply")
        again_at = await self.reconciler.apply(tx, loaded, decision)
        self._strike("after_apply")
        return again_at


@dataclass
class Life:
    """An allocation from request to release, driven step by step: worker rounds, then the host's answers."""

    site: Site
    host: Host
    project: str
    reconciler: Any
    generations: list[int] = field(default_factory=list)

    async def advance(self) -> bool:
        """Everything that is due, once. A killed run leaves its lease, which we let lapse at once."""
        platform = self.site.platform
        async with platform.database.connection(PLATFORM) as connection:
            taken = await leases.take(connection, [self.reconciler.kind], "w", utc_now(), 60, 10)
        worker = Worker(platform, [self.reconciler])
        for lease in taken:
            try:
                await worker._advance(lease)
            except Killed:
                async with platform.database.connection(PLATFORM) as connection:
                    await connection.execute("UPDATE work_items SET lease_until = now() WHERE id = %s", (lease.id,))
        return bool(taken)

    async def answer(self) -> bool:
        tasks = await self.host.poll()
        for task in tasks:
            self.generations.append(task["generation"])
            result = {"provision": WAY_IN, "verify_wipe": CLEAN}.get(task["kind"], {})
            assert (await self.host.report(task, result=result)).status_code == 200
        return bool(tasks)

    async def until(self, allocation_id: str, state: str) -> Json:
        path = f"/projects/{self.project}/allocations/{allocation_id}"
        for _ in range(60):
            moved = await self.advance() | await self.answer()
            found = await self.site.admin.get(path)
            if found["state"] == state and not found["phase"]:
                return found
            assert moved or found["state"] == state, f"stuck in {found['state']} ({found['phase']})"
        raise AssertionError(f"never {state}")

    async def live(self) -> tuple[Json, list[str]]:
        made = await self.site.admin.post(f"/projects/{self.project}/allocations", {"sku": "whole"})
        allocation = made["items"][0]["id"]
        await self.until(allocation, "active")
        await self.site.admin.post(f"/projects/{self.project}/allocations/{allocation}/release", {})
        ended = await self.until(allocation, "released")
        timeline = await self.site.admin.get(f"/projects/{self.project}/allocations/{allocation}/timeline")
        return ended, [entry["name"] for entry in timeline["items"] if entry["kind"] == "state"]


@pytest.fixture
async def site(platform: Platform) -> AsyncIterator[Site]:
    async with agents.opened(platform) as opened:
        yield opened


async def ready(site: Site) -> tuple[Host, str]:
    host = await site.host()
    slots = [slot(n) for n in range(2)]
    assert (await host.call("POST", "/inventory", inventory(*slots))).status_code == 200
    await site.admin.post(f"/nodes/{host.node_id}/slots/approve", {})
    sku = {"name": "whole", "shape": "baremetal", "gpu_model": slots[0]["gpu_model"], "gpu_counts": [2]}
    await site.admin.post("/skus", sku | {"price_per_gpu_hour_minor": 1, "wipe_grade": "inspected"})
    tenant = await site.admin.post("/tenants", {"slug": "acme", "name": "Acme"})
    project = await site.admin.post(f"/tenants/{tenant['id']}/projects", {"slug": "train", "name": "Train"})
    return host, project["id"]


async def test_killing_any_stage_of_any_step_changes_nothing_in_the_end(site: Site) -> None:
    host, project = await ready(site)
    reconciler = AllocationReconciler(site.platform)
    undisturbed = Disturbed(reconciler, "never", 0)
    ended, states = await Life(site, host, project, undisturbed).live()
    assert (ended["state"], ended["wipe_verified"], states) == ("released", True, LIFE)
    runs = undisturbed.runs
    assert runs >= 5  # requested, provisioned, released, and the phases of the clean-up
    for run in range(1, runs + 1):
        for stage in STAGES:
            disturbed = Disturbed(reconciler, stage, run)
            life = Life(site, host, project, disturbed)
            ended, states = await life.live()
            assert disturbed.struck, f"{stage} of run {run} was never reached"
            assert (ended["state"], ended["wipe_verified"], states) == ("released", True, LIFE), (stage, run)
            assert life.generations == sorted(set(life.generations)), (stage, run)
            await assert_consistent(site.platform)
    quota = await site.admin.get(f"/projects/{project}/quota")
    assert quota["gpus_used"] == 0
