"""A release that the platform cannot finish holds the slots, but not the tenant's quota; and it is given back once."""

from collections.abc import AsyncIterator

import pytest

from gpuaas_server.allocations.reconciler import AllocationMachine
from gpuaas_server.kernel.context import Platform
from gpuaas_server.work.worker import Worker
from tests_support import agents
from tests_support.agents import Host, Json, Site, inventory, slot
from tests_support.capacity_checks import assert_consistent

SSH = {"ssh": {"address": "10.0.0.1", "port": 22, "user": "gpu"}}


@pytest.fixture
async def site(platform: Platform) -> AsyncIterator[Site]:
    async with agents.opened(platform) as opened:
        yield opened


class Story:
    """One allocation of two GPUs on a host that is told what to find when it verifies the wipe."""

    def __init__(self, site: Site, host: Host, project: str, tenant: str) -> None:
        self.site, self.host, self.project, self.tenant = site, host, project, tenant
        self.worker = Worker(site.platform, [AllocationMachine(site.platform)])
        self.allocation = ""

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

    async def used(self) -> tuple[int, int]:
        quotas = [f"/projects/{self.project}/quota", f"/tenants/{self.tenant}/quota"]
        project, tenant = [(await self.site.admin.get(path))["gpus_used"] for path in quotas]
        return project, tenant


@pytest.fixture
async def blocked(site: Site) -> Story:
    host = await site.host()
    slots = [slot(n) for n in range(2)]
    await host.call("POST", "/inventory", inventory(*slots))
    await site.admin.post(f"/nodes/{host.node_id}/slots/approve", {})
    sku = {"name": "whole", "shape": "baremetal", "gpu_model": slots[0]["gpu_model"], "gpu_counts": [2]}
    await site.admin.post("/skus", sku | {"price_per_gpu_hour_minor": 1})
    tenant = await site.admin.post("/tenants", {"slug": "acme", "name": "Acme"})
    project = await site.admin.post(f"/tenants/{tenant['id']}/projects", {"slug": "train", "name": "Train"})
    story = Story(site, host, project["id"], tenant["id"])
    await story.create()
    assert await story.used() == (2, 2)
    await story.ask("release")
    assert await story.settle(clean=False) == "release_failed"
    return story


async def test_a_blocked_release_stops_counting_while_its_slots_stay_out_of_the_pool(blocked: Story) -> None:
    assert await blocked.used() == (0, 0)
    node = await blocked.site.admin.get(f"/nodes/{blocked.host.node_id}")
    assert node["slots"]["cleanup_blocked"] == 2


async def test_a_retry_that_fails_and_one_that_ends_well_give_nothing_back_again(blocked: Story) -> None:
    for clean, state in ((False, "release_failed"), (True, "released")):
        await blocked.ask("retry-release")
        assert await blocked.settle(clean) == state
        assert await blocked.used() == (0, 0)
    await blocked.create()
    assert await blocked.used() == (2, 2)


async def test_a_forced_clean_up_gives_nothing_back_again(blocked: Story) -> None:
    reason = {"reason": "drive replaced", "evidence": "new serial, seen by J. Doe"}
    await blocked.ask("force-cleanup", reason)
    assert await blocked.settle(clean=True) == "released"
    assert await blocked.used() == (0, 0)
    await blocked.create()
    assert await blocked.used() == (2, 2)


async def test_a_clean_release_gives_back_once(blocked: Story) -> None:
    await blocked.ask("retry-release")
    await blocked.settle(clean=True)
    await blocked.create()
    await blocked.ask("release")
    assert await blocked.settle(clean=True) == "released"
    assert await blocked.used() == (0, 0)


async def test_clean_against_another_baseline_is_not_shown_as_verified(blocked: Story) -> None:
    await blocked.ask("retry-release")
    assert await blocked.settle(clean=True, baseline="b") == "release_failed"
    path = f"/projects/{blocked.project}/allocations/{blocked.allocation}"
    assert (await blocked.site.admin.get(path))["wipe_verified"] is False
    await blocked.ask("retry-release")
    assert await blocked.settle(clean=True) == "released"
    assert (await blocked.site.admin.get(path))["wipe_verified"] is True
