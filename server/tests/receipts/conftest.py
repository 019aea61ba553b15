"""The ground of tests_support/grounds.py as a fixture, on a host that is enrolled and approved."""

from collections.abc import AsyncIterator

import pytest

from gpuaas_server.kernel.context import Platform
from tests_support import agents
from tests_support.agents import MovableClock, inventory, slot
from tests_support.grounds import BASELINE, WAY_IN, Ground, work_off


@pytest.fixture
def clock(platform: Platform) -> MovableClock:
    platform.clock = clock = MovableClock()
    return clock


@pytest.fixture
async def ground(platform: Platform, clock: MovableClock) -> AsyncIterator[Ground]:
    async with agents.opened(platform) as site:
        host = await site.host()
        assert (await host.call("POST", "/inventory", inventory(slot(0), slot(1)))).status_code == 200
        await site.admin.post(f"/nodes/{host.node_id}/slots/approve", {})
        sku = {"name": "whole", "shape": "baremetal", "gpu_model": slot(0)["gpu_model"], "gpu_counts": [2]}
        await site.admin.post("/skus", sku | {"price_per_gpu_hour_minor": 1})
        tenant = await site.admin.post("/tenants", {"slug": "acme", "name": "Acme"})
        project = await site.admin.post(f"/tenants/{tenant['id']}/projects", {"slug": "train", "name": "Train"})
        made = await site.admin.post(f"/projects/{project['id']}/allocations", {"sku": "whole"})
        await work_off(platform)
        [task] = await host.poll()
        await host.report(task, result=WAY_IN, evidence={"baseline_sha256": BASELINE})
        await work_off(platform)
        yield Ground(site, host, project["id"], made["items"][0]["id"])
