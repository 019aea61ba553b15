"""The life of one allocation, step by step, with a worker and a host that the test plays."""

from typing import Self

from gpuaas_server.allocations.reconciler import AllocationReconciler
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.nodes.machine import FleetPulse, LivenessVerdict
from gpuaas_server.nodes.reconciler import NodeLivenessReconciler
from gpuaas_server.work.worker import Worker
from tests_support.agents import Host, Json, Site, inventory, slot
from tests_support.capacity_checks import assert_consistent

SSH = {"ssh": {"address": "10.0.0.1", "port": 22, "user": "gpu"}}


class Story:
    """One allocation of two GPUs on a host that is told what to find when it verifies the wipe."""

    def __init__(self, site: Site, host: Host, project: str, tenant: str) -> None:
        self.site, self.host, self.project, self.tenant = site, host, project, tenant
        self.worker = Worker(site.platform, [AllocationReconciler(site.platform)])
        self.allocation = ""

    @classmethod
    async def begin(cls, site: Site) -> Self:
        host = await site.host()
        slots = [slot(n) for n in range(2)]
        await host.call("POST", "/inventory", inventory(*slots))
        await site.admin.post(f"/nodes/{host.node_id}/slots/approve", {})
        sku = {"name": "whole", "shape": "baremetal", "gpu_model": slots[0]["gpu_model"], "gpu_counts": [2]}
        await site.admin.post("/skus", sku | {"price_per_gpu_hour_minor": 1, "wipe_grade": "inspected"})
        tenant = await site.admin.post("/tenants", {"slug": "acme", "name": "Acme"})
        project = await site.admin.post(f"/tenants/{tenant['id']}/projects", {"slug": "train", "name": "Train"})
        return cls(site, host, project["id"], tenant["id"])

    @property
    def path(self) -> str:
        return f"/projects/{self.project}/allocations/{self.allocation}"

    async def show(self) -> Json:
        return await self.site.admin.get(self.path)

    async def slots(self) -> list[tuple[str, str | None]]:
        found = await self.site.admin.get(f"/nodes/{self.host.node_id}/slots")
        return [(one["status"], one["status_reason"]) for one in found["items"]]

    async def events(self) -> list[str]:
        """What the project was told, oldest first."""
        found = await self.site.admin.get(f"/projects/{self.project}/events?limit=200")
        return [event["type"] for event in found["items"]]

    async def judge_host(self, verdict: LivenessVerdict) -> None:
        """Apply the verdict as if the liveness reconciler had reached it by waiting."""
        reconciler = NodeLivenessReconciler(self.site.platform)
        async with self.site.platform.transaction(PLATFORM, system_actor("test")) as tx:
            await reconciler.apply(tx, FleetPulse((), None), verdict)

    async def lose_host(self) -> None:
        await self.judge_host(LivenessVerdict(lost=(self.host.node_id,)))

    async def bring_host_back(self) -> None:
        await self.judge_host(LivenessVerdict(back=(self.host.node_id,)))

    async def work(self) -> None:
        """The worker alone; the host does not speak."""
        for _ in range(10):
            await self.worker._round()
            for task in list(self.worker._running):
                await task
        await assert_consistent(self.site.platform)

    async def create(self) -> None:
        made = await self.site.admin.post(f"/projects/{self.project}/allocations", {"sku": "whole"})
        self.allocation = made["items"][0]["id"]
        await self.settle(clean=True)

    async def ask(self, verb: str, body: Json | None = None) -> None:
        await self.site.admin.post(f"/projects/{self.project}/allocations/{self.allocation}/{verb}", body or {})

    async def settle(self, clean: bool, baseline: str = "a") -> str:
        """Until neither the worker nor the host has anything to do; the state then."""
        for _ in range(20):
            await self.worker._round()
            for task in list(self.worker._running):
                await task
            for task in await self.host.poll():
                result = SSH if task["kind"] == "provision" else {"clean": clean}
                evidence = {"baseline_sha256": baseline}
                assert (await self.host.report(task, result=result, evidence=evidence)).status_code == 200
        found = await self.site.admin.get(f"/projects/{self.project}/allocations/{self.allocation}")
        await assert_consistent(self.site.platform)
        return str(found["state"])

    async def unproven(self) -> tuple[int, int]:
        """GPUs of the project and of the tenant that are not proven clean."""
        paths = (f"/projects/{self.project}/quota", f"/tenants/{self.tenant}/quota")
        project, tenant = [(await self.site.admin.get(path))["unproven_gpus"] for path in paths]
        return project, tenant

    async def used(self) -> tuple[int, int]:
        quotas = [f"/projects/{self.project}/quota", f"/tenants/{self.tenant}/quota"]
        project, tenant = [(await self.site.admin.get(path))["gpus_used"] for path in quotas]
        return project, tenant
