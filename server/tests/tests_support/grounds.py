"""An active allocation on a host whose agent signs its answers, and an operation that says it tore something down."""

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from gpuaas_server.allocations.reconciler import AllocationReconciler
from gpuaas_server.kernel.context import Platform, Tx, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.receipts import proof, service
from gpuaas_server.receipts.compare import CHECKS
from gpuaas_server.receipts.proof import ReceiptsVerdict
from gpuaas_server.receipts.service import Teardown, TeardownTarget
from gpuaas_server.work import leases
from gpuaas_server.work.reconcilers import Reconciler
from gpuaas_server.work.worker import Worker
from tests_support import agents
from tests_support.agents import Host, Json, Site, inventory, slot

BASELINE = "b" * 64
FOOTPRINT: dict[str, object] = {
    "units": ["echo.service"],
    "ports": [{"port": 7777, "protocol": "tcp"}],
    "paths": ["/opt/echo"],
}
WAY_IN = {"ssh": {"address": "10.0.0.1", "port": 22, "user": "gpu"}}


@dataclass
class EchoLab:
    site: Site
    host: Host
    project: str
    allocation: str

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tx]:
        async with self.site.platform.transaction(PLATFORM, system_actor("test", "correlation-of-a-test")) as tx:
            yield tx

    async def start(self, depth: str = "gone", footprint: dict[str, object] | None = None) -> tuple[str, str]:
        """(operation id, receipt id)"""
        operation, target = new_id("op"), TeardownTarget(new_id("mem"), self.allocation, self.host.node_id)
        wanted = FOOTPRINT if footprint is None else footprint
        async with self.transaction() as tx:
            [receipt] = await service.start_receipts(tx, _of(operation, depth), [target], wanted)
        return operation, receipt

    async def start_two(self) -> tuple[str, list[str]]:
        """Two members of one instance: both hosts must answer."""
        operation = new_id("op")
        targets = [TeardownTarget(new_id("mem"), self.allocation, self.host.node_id) for _ in range(2)]
        async with self.transaction() as tx:
            return operation, await service.start_receipts(tx, _of(operation), targets, FOOTPRINT)

    async def settle(self, operation: str) -> ReceiptsVerdict:
        async with self.transaction() as tx:
            decision = proof.decide_proof(await proof.load_proof(tx.connection, operation), tx.now)
            await proof.store_decision(tx, decision)
        return decision.verdict

    async def force(self, operation: str, reason: str = "the host burnt down") -> None:
        async with self.transaction() as tx:
            await service.force_receipts(tx, _of(operation), [], reason)

    async def force_unasked(self) -> str:
        """An operation that never came as far as asking a host."""
        operation, target = new_id("op"), TeardownTarget(new_id("mem"), self.allocation, self.host.node_id)
        async with self.transaction() as tx:
            await service.force_receipts(tx, _of(operation, "stopped"), [target], "its controller is gone")
        return operation

    async def show(self, receipt: str) -> Json:
        return await self.site.admin.get(f"/projects/{self.project}/receipts/{receipt}")

    async def look(self) -> Json:
        [task] = [task for task in await self.host.poll() if task["kind"] == "inspect"]
        return task

    async def answer(self, task: Json, evidence: Json | None = None, **checks: Json) -> None:
        told = {"baseline_sha256": BASELINE} if evidence is None else evidence
        answered = await self.host.report(task, result=inspected(task["spec"], **checks), evidence=told)
        assert answered.status_code == 200, answered.text


def inspected(spec: Json, **checks: Json) -> dict[str, Any]:
    """As the agent answers; `checks` are what it found."""
    text = json.dumps(spec["footprint"], sort_keys=True, separators=(",", ":"))
    empty: Json = {"found": [], "left": 0, "not_in_footprint": [], "examined": 1, "problem": ""}
    return {
        "receipt_id": spec["receipt_id"],
        "allocation_id": spec["allocation_id"],
        "depth": spec["depth"],
        "footprint_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "looks": 1,
        "checks": [
            {"name": name, "entries": spec["footprint"].get(name, []), **empty, **checks.get(name, {})}
            for name in CHECKS[spec["depth"]]
        ],
    }


def left(item: str) -> Json:
    return {"found": [{"item": item, "why": "echo.service", "known": False}], "left": 1}


@asynccontextmanager
async def settled(platform: Platform) -> AsyncIterator[EchoLab]:
    """On a host that is enrolled and approved."""
    async with agents.opened(platform) as site:
        host = await site.host()
        assert (await host.call("POST", "/inventory", inventory(slot(0), slot(1)))).status_code == 200
        await site.admin.post(f"/nodes/{host.node_id}/slots/approve", {})
        sku = {"name": "whole", "shape": "baremetal", "gpu_model": slot(0)["gpu_model"], "gpu_counts": [2]}
        await site.admin.post("/skus", sku | {"price_per_gpu_hour_minor": 1, "wipe_grade": "inspected"})
        tenant = await site.admin.post("/tenants", {"slug": "acme", "name": "Acme"})
        project = await site.admin.post(f"/tenants/{tenant['id']}/projects", {"slug": "train", "name": "Train"})
        made = await site.admin.post(f"/projects/{project['id']}/allocations", {"sku": "whole"})
        await work_off(platform)
        [task] = await host.poll()
        await host.report(task, result=WAY_IN, evidence={"baseline_sha256": BASELINE})
        await work_off(platform)
        yield EchoLab(site, host, project["id"], made["items"][0]["id"])


async def work_off(platform: Platform, *reconcilers: Reconciler[Any, Any]) -> None:
    """All that is due, of allocations and of these."""
    every = [AllocationReconciler(platform), *reconcilers]
    worker = Worker(platform, every)
    async with platform.database.connection(PLATFORM) as connection:
        taken = await leases.take(connection, [one.kind for one in every], "w", platform.clock(), 60, 10)
    for lease in taken:
        await worker._advance(lease)


def _of(operation: str, depth: str = "gone") -> Teardown:
    return Teardown(operation, new_id("ins"), "echo", depth)
